// Builds the portal's pages: bundles src/ with esbuild, gives every asset a name with a hash of its content, writes
// index.html around them and lays a .br and a .gz next to every file, so that the server never compresses at run time.
//
//   node build.mjs            into $PORTAL_OUT, or dist/
//   node build.mjs --watch    the same, again after every change, readable and without the compressed copies
//   node build.mjs --sizes    builds, and prints what each file weighs on the wire
//   node build.mjs --tests    bundles the unit tests into test-results/unit/ for `node --test`

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const web = dirname(fileURLToPath(import.meta.url));
const out = process.env.PORTAL_OUT ?? join(web, "dist");
const watching = process.argv.includes("--watch");
/** Below this the server has the files of the portal. */
const BASE = "/portal/";

const shared = {
  absWorkingDir: web,
  bundle: true,
  format: "esm",
  target: ["chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
};

const pages = {
  ...shared,
  entryPoints: { app: "src/main.tsx", style: "src/styles.css", icon: "src/icon.svg" },
  outdir: out,
  splitting: true,
  minify: !watching,
  entryNames: "assets/[name]-[hash]",
  chunkNames: "assets/[name]-[hash]",
  assetNames: "assets/[name]-[hash]",
  loader: { ".svg": "copy" },
  legalComments: "none",
  metafile: true,
  plugins: [{ name: "index", setup: (build) => build.onEnd(finish) }],
};

function finish(result) {
  if (result.errors.length > 0) return;
  writeFileSync(join(out, "index.html"), indexHtml(result.metafile));
  writeFileSync(join(out, "LICENSES.txt"), licenses(result.metafile));
  if (!watching) for (const file of filesBelow(out)) compress(file);
}

/** The one HTML file: no inline script, no inline style, and a hint to fetch what the first script imports. */
function indexHtml(metafile) {
  const outputs = Object.entries(metafile.outputs).map(([path, output]) => ({
    address: addressOf(path),
    ...output,
  }));
  const of = (source) => outputs.find((output) => output.entryPoint === source);
  const script = of("src/main.tsx");
  const early = script.imports.filter((one) => one.kind === "import-statement").map((one) => addressOf(one.path));
  const icon = outputs.find((output) => output.address.endsWith(".svg"));
  return readFileSync(join(web, "index.html"), "utf8")
    .replace("%icon%", icon.address)
    .replace("%style%", of("src/styles.css").address)
    .replace("%script%", script.address)
    .replace("%early%", early.map((href) => `<link rel="modulepreload" href="${href}">`).join("\n    "));
}

function addressOf(path) {
  return BASE + relative(out, join(web, path)).replaceAll("\\", "/");
}

/** The licence texts of the packages that went into the bundle, as their licences ask. */
function licenses(metafile) {
  const names = new Set();
  for (const path of Object.keys(metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (found) names.add(found[1]);
  }
  return [...names]
    .sort()
    .map((name) => {
      const about = JSON.parse(readFileSync(join(web, "node_modules", name, "package.json"), "utf8"));
      const text = readFileSync(join(web, "node_modules", name, "LICENSE"), "utf8");
      return `${name} ${about.version} (${about.license})\n\n${text.trim()}\n`;
    })
    .join(`\n${"-".repeat(72)}\n\n`);
}

function compress(path) {
  const bytes = readFileSync(path);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}

function filesBelow(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

function testFiles() {
  return filesBelow(join(web, "src")).filter((path) => /\.test\.tsx?$/.test(path));
}

function emptied(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

if (process.argv.includes("--tests")) {
  const folder = join(web, "test-results", "unit");
  emptied(folder);
  await esbuild.build({
    ...shared,
    entryPoints: testFiles(),
    outdir: folder,
    platform: "node",
    target: "node20",
    // A whole browser of its own: read from where it lies, and not into each test again.
    external: ["happy-dom"],
    outExtension: { ".js": ".mjs" },
  });
} else if (watching) {
  mkdirSync(out, { recursive: true });
  await (await esbuild.context(pages)).watch();
} else {
  emptied(out);
  await esbuild.build(pages);
  if (process.argv.includes("--sizes")) sizes();
}

/** Prints what each file weighs on the wire. */
function sizes() {
  const rows = filesBelow(out)
    .filter((path) => path.endsWith(".br"))
    .map((path) => [statSync(path).size, relative(out, path)]);
  for (const [size, name] of rows.sort((a, b) => b[0] - a[0])) console.log(String(size).padStart(8), name);
  console.log(String(rows.reduce((sum, [size]) => sum + size, 0)).padStart(8), "all together");
}
