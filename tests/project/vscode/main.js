// An extension that uses the one of nginxopt as a user would, and writes what it got into $PROBE_RESULT as JSON.
const { commands, extensions, languages, workspace, window, Uri } = require("vscode");
const { renameSync, writeFileSync } = require("node:fs");

const PAUSE = 100; // milliseconds

/** Returns the first value that is not empty. */
async function until(look) {
  for (;;) {
    const value = await look();
    if (value) return value;
    await new Promise((next) => setTimeout(next, PAUSE));
  }
}

async function session(result) {
  const uri = Uri.joinPath(workspace.workspaceFolders[0].uri, "nginx.conf");
  const codes = () => languages.getDiagnostics(uri).map(({ code }) => code?.value ?? code);
  const document = await workspace.openTextDocument(uri);
  await window.showTextDocument(document);
  result.language = document.languageId;
  result.found = await until(() => codes().length && codes());
  result.active = extensions.getExtension("nginxopt.nginxopt").isActive;

  const lenses = await until(async () => {
    const all = await commands.executeCommand("vscode.executeCodeLensProvider", uri, 1);
    return all?.length && all;
  });
  result.lens = lenses[0].command.title;
  const { range } = lenses[0];
  const actions = await commands.executeCommand("vscode.executeCodeActionProvider", uri, range, "refactor.rewrite");
  result.title = actions[0].title;
  await commands.executeCommand(actions[0].command.command, ...actions[0].command.arguments);
  result.compiled = document.getText();
  await until(() => !codes().includes("rewrite-literal-bulk"));
  result.unsaved = codes();
  await workspace.saveAll(true);

  await commands.executeCommand("editor.action.formatDocument");
  result.formatted = document.getText();
  await commands.executeCommand("editor.action.fixAll");
  await until(() => !codes().includes("gzip-level"));
  await document.save();

  await commands.executeCommand("nginxopt.restart");
  result.restarted = await until(() => codes().length && codes());
}

exports.activate = async () => {
  const result = {};
  await session(result).catch((error) => (result.error = String(error.stack)));
  const path = process.env.PROBE_RESULT;
  writeFileSync(`${path}.new`, JSON.stringify(result));
  renameSync(`${path}.new`, path);
};
