// An editor without windows, of the packages that the extension for Visual Studio Code is made of:
//
//     node client.mjs FOLDER COMMAND...
//
// It opens FOLDER/nginx.conf, uses what the server offers, and prints what it got as JSON.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import protocol from "vscode-languageserver-protocol/node";
import { TextDocument } from "vscode-languageserver-textdocument";

const [folder, command, ...words] = process.argv.slice(2);
const server = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
const connection = protocol.createProtocolConnection(
  new protocol.StreamMessageReader(server.stdout),
  new protocol.StreamMessageWriter(server.stdin),
);

const path = `${folder}/nginx.conf`;
const uri = pathToFileURL(path).href;
let open = TextDocument.create(uri, "nginx", 1, readFileSync(path, "utf8"));
const messages = [];
const waiting = [];
let published;

function check() {
  for (const { is, done } of [...waiting]) if (is()) done();
}

function until(is) {
  return new Promise((done) => {
    waiting.push({ is, done });
    check();
  });
}

/** Puts the text of the open file, or of another one, to what edits make of it. */
async function edit(where, edits) {
  if (where !== uri) {
    const file = fileURLToPath(where);
    const before = existsSync(file) ? readFileSync(file, "utf8") : "";
    writeFileSync(file, TextDocument.applyEdits(TextDocument.create(where, "nginx", 1, before), edits));
    return;
  }
  const text = TextDocument.applyEdits(open, edits);
  open = TextDocument.create(uri, "nginx", open.version + 1, text);
  const textDocument = { uri, version: open.version };
  await connection.sendNotification("textDocument/didChange", { textDocument, contentChanges: [{ text }] });
}

async function applied(change) {
  for (const [where, edits] of Object.entries(change.changes ?? {})) await edit(where, edits);
  for (const one of change.documentChanges ?? []) {
    if (one.kind !== "create") await edit(one.textDocument.uri, one.edits);
  }
}

function codes() {
  return published?.version === open.version ? published.diagnostics.map((one) => one.code) : undefined;
}

connection.onNotification("textDocument/publishDiagnostics", (params) => {
  published = params.uri === uri ? params : published;
  check();
});
connection.onNotification("window/showMessage", (params) => {
  messages.push(params.message);
  check();
});
connection.onRequest("client/registerCapability", () => null);
connection.onRequest("workspace/applyEdit", async ({ edit }) => {
  await applied(edit);
  return { applied: true };
});
connection.listen();

const started = await connection.sendRequest("initialize", {
  processId: process.pid,
  rootUri: pathToFileURL(folder).href,
  initializationOptions: { trusted: true },
  capabilities: {
    workspace: { applyEdit: true, workspaceEdit: { documentChanges: true, resourceOperations: ["create"] } },
    textDocument: { publishDiagnostics: { versionSupport: true } },
  },
});
await connection.sendNotification("initialized", {});
const textDocument = { uri };
await connection.sendNotification("textDocument/didOpen", {
  textDocument: { uri, languageId: "nginx", version: 1, text: open.getText() },
});
await until(codes);
const found = codes();
const everything = { start: { line: 0, character: 0 }, end: open.positionAt(open.getText().length) };

async function actions(kind, range) {
  const context = { diagnostics: [], only: [kind] };
  return await connection.sendRequest("textDocument/codeAction", { textDocument, range, context });
}

const [fix] = await actions("source.fixAll.nginxopt", everything);
await applied(fix.edit);
await until(codes);
const fixed = codes();
const before = open.getText();

const lenses = await connection.sendRequest("textDocument/codeLens", { textDocument });
const [compile] = await actions("refactor.rewrite", lenses[0].range);
await connection.sendRequest("workspace/executeCommand", compile.command);
await until(() => messages.length);
const compiled = open.getText();

const options = { tabSize: 4, insertSpaces: true };
await edit(uri, await connection.sendRequest("textDocument/formatting", { textDocument, options }));
const formatted = open.getText();
writeFileSync(path, formatted);

await connection.sendRequest("shutdown");
const exited = once(server, "exit");
await connection.sendNotification("exit");
const [status] = await exited;
const [lens, title] = [lenses[0].command.title, compile.title];
const { name } = started.serverInfo;
const texts = { before, compiled, formatted };
console.log(JSON.stringify({ server: name, found, fixed, lens, title, messages, status, ...texts }));
