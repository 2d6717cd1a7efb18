import { commands, ExtensionContext, window, workspace } from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

const SECTION = "nginxopt";
const INSTALL = "Install it with: pip install 'nginxopt[lsp]', or set nginxopt.command to its path.";

let client: LanguageClient | undefined;

/** Starts the server, and again when its settings change. */
export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    commands.registerCommand(`${SECTION}.restart`, restart),
    workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration(`${SECTION}.command`) || change.affectsConfiguration(`${SECTION}.arguments`)) {
        await restart();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}

async function restart(): Promise<void> {
  await stop();
  await start();
}

async function start(): Promise<void> {
  const settings = workspace.getConfiguration(SECTION);
  const command = settings.get<string>("command", "nginxopt");
  const server: ServerOptions = { command, args: ["lsp", ...settings.get<string[]>("arguments", [])] };
  const watched = ["**/*.conf", "**/nginxopt.toml", "**/pyproject.toml"];
  const options: LanguageClientOptions = {
    documentSelector: [
      { language: "nginx", scheme: "file" },
      { language: "nginx", scheme: "untitled" },
    ],
    initializationOptions: { trusted: workspace.isTrusted },
    synchronize: { fileEvents: watched.map((pattern) => workspace.createFileSystemWatcher(pattern)) },
  };
  client = new LanguageClient(SECTION, "nginxopt", server, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    await window.showErrorMessage(`nginxopt: "${command} lsp" cannot be started: ${reason(error)}. ${INSTALL}`);
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.dispose();
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
