"use strict";
startLivePage("gradients", (root) => root.append("..."));
