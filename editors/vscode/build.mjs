// Bundles the extension into dist/extension.js, and the licences of the packages in it into dist/LICENSES.txt.
import { build } from "esbuild";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { metafile } = await build({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  minify: true,
  platform: "node",
  target: "node20",
  external: ["vscode"],
  metafile: true,
});

const folders = Object.keys(metafile.inputs).map((path) => /^(?:.*node_modules\/)(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
const texts = [...new Set(folders.filter(Boolean))].sort().map((folder) => {
  const license = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (license === undefined) throw new Error(`${folder} has no licence`);
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join(folder, license), "utf8").trim()}\n`;
});
writeFileSync("dist/LICENSES.txt", texts.join(`\n${"-".repeat(78)}\n\n`));
