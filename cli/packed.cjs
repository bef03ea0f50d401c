/*
 * The entry of the bundle (tools/bundle.ts). `node curbcut.cjs` runs it, and the program of the npm package calls `run`. The modules of
 * the program are loaded after the version of Node.js was checked.
 */
'use strict';
/* eslint-disable @typescript-eslint/no-require-imports */
var path = require('path');
var start = require('./start.cjs').start;

exports.run = function () {
  // tools/bundle.ts sets NODE_NEEDED. In the npm package the scanner is beside the bundle.
  start('curbcut', NODE_NEEDED, function () {
    return import('./process.ts').then(function (module) {
      return module.runProcess(process.env, path.join(__dirname, 'scanner', 'main.mjs'));
    });
  });
};
