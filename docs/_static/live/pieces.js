"use strict";
startLivePage("pieces", (root) => root.append("..."));
