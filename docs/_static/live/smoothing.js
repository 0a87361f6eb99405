"use strict";
startLivePage("smoothing", (root) => root.append("..."));
