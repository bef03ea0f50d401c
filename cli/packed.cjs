/*
 * The entry of the bundle (tools/bundle.ts), which has both programs. `node curbcut.cjs` runs the command line itself; the programs
 * of the npm package and of krew call `run`. The modules of the programs are loaded after the version of Node.js was checked.
 */
'use strict';
/* eslint-disable @typescript-eslint/no-require-imports */
var path = require('path');
var start = require('./start.cjs').start;

/** @param {'curbcut' | 'kubectl curbcut'} program the command as its user types it */
exports.run = function (program) {
  // tools/bundle.ts sets NODE_NEEDED. In the npm package the scanner is beside the bundle.
  start(program, NODE_NEEDED, function () {
    return import('./process.ts').then(function (module) {
      return module.runProcess(program, process.env, path.join(__dirname, 'scanner', 'main.mjs'));
    });
  });
};
