// Bundles the pages into the folder named by PORTAL_OUT. What lies under assets/ has its hash in its name and is served
// as never changing; everything is written twice more, as brotli and gzip.
import { build } from "esbuild";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const out = process.env.PORTAL_OUT ?? "dist";
const result = await build({
    entryPoints: { app: "src/main.ts" },
    bundle: true,
    format: "esm",
    minify: true,
    target: "es2022",
    metafile: true,
    jsx: "automatic",
    jsxImportSource: "preact",
    outdir: join(out, "assets"),
    entryNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    publicPath: "/portal/assets",
});

const names = Object.keys(result.metafile.outputs).map((path) => basename(path));
const named = (end) => `/portal/assets/${names.find((name) => name.startsWith("app-") && name.endsWith(end))}`;
const page = await readFile("src/index.html", "utf8");
await mkdir(out, { recursive: true });
await writeFile(join(out, "index.html"), page.replace("{{script}}", named(".js")).replace("{{style}}", named(".css")));

for (const entry of await readdir(out, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path);
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
    await writeFile(`${path}.br`, brotliCompressSync(bytes, quality));
    await writeFile(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
