/** The command that starts a new program. */

import * as vscode from 'vscode';

const TEXT = `use std::collectives::allgather;

/// Every rank puts its chunk into the output of every other rank.
program gather(ranks: int = 8) {
    collective allgather(ranks, in_place = true);
    channel mem[p in peers] = memory(p);

    block main {
        signal mem[*] relaxed;    // my output may be written
        wait mem[*] relaxed;      // and so may yours
        for p in peers {
            put output[rank] -> p.output[rank] via mem[p];
        }
        signal mem[*];            // my chunk is there
        wait mem[*];              // and all of yours are here
    }
}
`;

/** Registers the command. */
export function registerNewProgram(): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand('ccl.newProgram', async () => {
      const document = await vscode.workspace.openTextDocument({ language: 'ccl', content: TEXT });
      await vscode.window.showTextDocument(document);
    }),
  ];
}
