/*
 * Starts a program of the command line. Exit code 1 means that a site did not pass, so whatever prevents a verdict ends with 2 and
 * one sentence. Node.js itself would end with 1 and a stack trace, or with 0 if nothing is left to wait for. This file is CommonJS
 * in the syntax of old versions of Node.js, so that they can report that they are too old.
 *
 * In a checkout: `node cli/start.cjs PROGRAM MODULE ARGUMENT…`. packed.cjs calls `start`.
 */
'use strict';
/* eslint-disable @typescript-eslint/no-require-imports */
var path = require('path');

var NO_VERDICT = 2;
/** The exit code until the program sets one. It never leaves this process. */
var UNSET = 254;

/** @param {unknown} error any thrown value */
function describe(error) {
  if (!(error instanceof Error)) return String(error);
  var message = error.message.split('\n')[0];
  var frame = /\(?((?:file:|\/|[A-Z]:\\)[^()\s]+:\d+:\d+)\)?/.exec(error.stack || '');
  return frame === null ? message : message + ' (' + frame[1].replace(/^file:\/\//, '') + ')';
}

/** @param {string} needed the oldest version, such as 22.12 */
function isTooOld(needed) {
  var own = process.versions.node.split('.').map(Number);
  var least = needed.split('.').map(Number);
  return own[0] < least[0] || (own[0] === least[0] && own[1] < (least[1] || 0));
}

/**
 * Runs a program in this process.
 * @param {string} program the command as its user types it
 * @param {string} needed the oldest version of Node.js that can run it
 * @param {() => Promise<unknown>} load imports the program, which runs then
 */
function start(program, needed, load) {
  /** @param {string} sentence why there is no verdict */
  function stop(sentence) {
    try {
      process.stderr.write(program + ': ' + sentence + '\n');
    } catch {
      // Standard error is closed, too. The exit code remains.
    }
    process.exit(NO_VERDICT);
  }

  /** @param {unknown} error any thrown value */
  function internalError(error) {
    stop('internal error, so there is no result: ' + describe(error));
  }

  /** @param {NodeJS.WriteStream} stream */
  function watch(stream) {
    stream.on('error', function (error) {
      // The reader, such as `head`, wants no more output. The exit code still says whether the site passed.
      if (error.code !== 'EPIPE') stop('the output cannot be written: ' + error.message);
    });
  }

  if (isTooOld(needed))
    stop('Node.js ' + needed + ' or later is required, and ' + process.execPath + ' is version ' + process.versions.node + '.');
  process.on('uncaughtException', internalError);
  process.on('unhandledRejection', internalError);
  watch(process.stdout);
  watch(process.stderr);
  process.exitCode = UNSET;
  process.on('exit', function (code) {
    if (code === UNSET) stop('internal error, so there is no result: the program ended too early.');
  });
  load().catch(internalError);
}

exports.start = start;

if (require.main === module) {
  var root = path.resolve(__dirname, '..');
  var file = path.resolve(root, process.argv[3]);
  var needed = require(path.join(root, 'package.json')).engines.node.replace('>=', '');
  var programName = process.argv[2];
  process.argv.splice(1, 3, file);
  start(programName, needed, function () {
    return import(require('url').pathToFileURL(file).href);
  });
}
