"use strict";
startLivePage("attention", (root) => root.append("..."));
