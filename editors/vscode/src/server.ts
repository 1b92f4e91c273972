/** The life cycle of the language server: found, started, watched, stopped, restarted. */

import * as vscode from 'vscode';
import { LanguageClient, LanguageClientOptions, ServerOptions, State, StaticFeature } from 'vscode-languageclient/node';
import { prepared, prepareReport } from './reported';
import type { Status } from './status';
import type { FileVerdicts } from './verdicts';
import { findServer, offerSettings } from './tools';

/** The interface of the server for the rest of the extension. */
export interface Server {
  start(): Promise<void>;
  stop(): Promise<void>;
  restart(): Promise<void>;
  /** The response to a request beyond the protocol; undefined if no server is running. */
  request<R>(method: string, about: unknown): Promise<R | undefined>;
}

/** A server that has not been started yet. */
export function createServer(
  extension: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
  status: Status,
): Server {
  let client: LanguageClient | undefined;

  async function start(): Promise<void> {
    const command = findServer(extension);
    if (command === undefined) {
      status.show('missing');
      await offerMissing(output);
      return;
    }
    output.info(`language server: ${command}`);
    client = createClient(command, output);
    client.onDidChangeState(({ newState }) => status.show(stateName(newState)));
    client.onNotification('ccl/verdicts', (verdicts: FileVerdicts) => status.learn(verdicts));
    status.show('starting');
    try {
      await client.start();
    } catch (error) {
      status.show('stopped');
      output.error(`the language server did not start: ${String(error)}`);
    }
  }

  async function stop(): Promise<void> {
    const old = client;
    client = undefined;
    try {
      await old?.dispose();
    } catch (error) {
      output.warn(`the language server did not stop in time: ${String(error)}`);
    }
  }

  async function restart(): Promise<void> {
    await stop();
    await start();
  }

  async function request<R>(method: string, about: unknown): Promise<R | undefined> {
    return client?.isRunning() ? client.sendRequest<R>(method, about) : undefined;
  }

  return { start, stop, restart, request };
}

function createClient(command: string, output: vscode.LogOutputChannel): LanguageClient {
  const server: ServerOptions = { command, args: ['--stdio'] };
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: 'file', language: 'ccl' },
      { scheme: 'untitled', language: 'ccl' },
    ],
    outputChannel: output,
    initializationOptions: vscode.workspace.getConfiguration('ccl'),
    synchronize: {
      configurationSection: 'ccl',
      fileEvents: vscode.workspace.createFileSystemWatcher('**/*.ccl'),
    },
    middleware: {
      // Diagnostics are either requested, for one file and for all, or sent by the server.
      handleDiagnostics: (uri, diagnostics, next) => next(uri, prepared(diagnostics)),
      provideDiagnostics: async (document, known, token, next) => {
        const report = await next(document, known, token);
        return report && prepareReport(report);
      },
      provideWorkspaceDiagnostics: (known, token, report, next) =>
        next(known, token, (chunk) => {
          chunk?.items.forEach(prepareReport);
          report(chunk);
        }),
    },
  };
  const created = new LanguageClient('ccl', 'ccl', server, options);
  created.registerFeature(abilities);
  return created;
}

/** Says in `initialize` which commands of lenses this extension has, and that it shows verdicts. */
const abilities: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    const commands = ['ccl.showElaborated', 'ccl.buildPlan', 'ccl.run'];
    capabilities.experimental = { ...capabilities.experimental, commands: { commands }, verdicts: true };
  },
  initialize: () => {},
  getState: () => ({ kind: 'static' }),
  clear: () => {},
};

function stateName(state: State): 'starting' | 'running' | 'stopped' {
  switch (state) {
    case State.Running:
      return 'running';
    case State.Stopped:
      return 'stopped';
    default:
      return 'starting';
  }
}

async function offerMissing(output: vscode.LogOutputChannel): Promise<void> {
  output.error('there is no ccl-lsp: not in ccl.server.path, not in the extension, not on the PATH');
  // Not awaited: the commands work without the server.
  void offerSettings('The language server, ccl-lsp, was not found.', 'ccl.server.path');
}
