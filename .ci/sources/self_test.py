"""Circles that are planted in a temporary folder must be found, and what only looks like one must not."""

import os
import tempfile

from sources import circles, functions, ids_as_text, openings, rust, shapes, text, typescript, unboxed

RUST_CIRCLES = {
    # By paths of the crate and of the parent, inside braces, by an alias.
    "a/src/lib.rs": "mod one;\nmod two;\npub mod three;\n",
    "a/src/one.rs": "use crate::two::{Two as Other, deep::{self}};\npub struct One(Other);\n",
    "a/src/two.rs": "pub mod deep {}\npub struct Two;\nfn back(_: &super::one::One) {}\n",
    "a/src/three.rs": "pub fn free() {}\n",
    # By way of a re-export: both the file that is named and the one that defines the name are depended on.
    "b/src/lib.rs": "mod inner;\nmod outer;\npub use inner::Inner;\npub use outer::Outer;\n",
    "b/src/inner.rs": "use crate::Outer;\npub struct Inner(Outer);\n",
    "b/src/outer.rs": "pub struct Outer;\nfn back() { let _: crate::Inner; }\n",
    # By a glob, and between a folder's file and a file below it.
    "c/src/lib.rs": "mod parent;\n",
    "c/src/parent/mod.rs": "mod child;\npub struct Shared;\npub fn call() { child::run() }\n",
    "c/src/parent/child.rs": "use super::*;\npub fn run() { let _ = Shared; }\n",
    # By way of a file that exports its own child again, where the child that uses the name is not the one that has it.
    "d/src/lib.rs": "mod face;\n",
    "d/src/face/mod.rs": "mod thing;\nmod user;\npub use thing::Thing;\npub use user::User;\n",
    "d/src/face/thing.rs": "pub struct Thing;\n",
    "d/src/face/user.rs": "pub struct User(super::Thing);\n",
    # By a glob of a file that has only imported the name itself.
    "e/src/lib.rs": "mod base;\nmod parent;\n",
    "e/src/base.rs": "pub struct Base;\n",
    "e/src/parent/mod.rs": "use crate::base::Base;\nmod child;\npub fn call(_: Base) { child::run() }\n",
    "e/src/parent/child.rs": "use super::*;\npub fn run() { let _ = Base; }\n",
    # By a module that is imported for one of its children, which itself is in no circle.
    "f/src/lib.rs": "mod list;\nmod topic;\n",
    "f/src/list.rs": "use super::topic;\npub static ALL: u8 = topic::leaf::LEAF;\n",
    "f/src/topic/mod.rs": "pub mod leaf;\npub fn all() -> u8 { crate::list::ALL }\n",
    "f/src/topic/leaf.rs": "pub const LEAF: u8 = 1;\n",
    # By the tests inside of a file.
    "h/src/lib.rs": "mod base;\nmod user;\n",
    "h/src/base.rs": "pub struct Base;\n#[cfg(test)]\nmod tests {\n    use super::Base;\n    use crate::user::User;\n    fn f(_: User, _: Base) {}\n}\n",
    "h/src/user.rs": "use crate::base::Base;\npub struct User(Base);\n",
    # Between files that hold nothing but tests.
    "g/src/lib.rs": "#[cfg(test)]\nmod contract;\n",
    "g/src/contract/mod.rs": "mod bracelets;\nmod people;\n",
    "g/src/contract/bracelets.rs": "use super::people::account;\npub fn bracelet() { account() }\n",
    "g/src/contract/people.rs": "use super::bracelets::bracelet;\npub fn account() {}\nfn worn() { bracelet() }\n",
}
# By a method of a shared type, of which only the way back is an import.
RUST_CALLS = {
    "src/lib.rs": "mod base;\nmod above;\nmod twice;\n",
    "src/base.rs": "pub struct Shared;\nimpl Shared { fn begin(&self) { self.finish(1); self.twice() } fn twice(&self) {} }\n",
    "src/above.rs": "use crate::base::Shared;\nimpl Shared { pub fn finish(&self, _: u8) {} }\n",
    "src/twice.rs": "use crate::base::Shared;\nimpl Shared { pub fn twice(&self) {} }\n",
}
SHAPES = """### The shapes of a sample

| Way | Shapes |
|---|---|
| long | the text → `One`, or `Other` → `Gone` → the text |
| torn | `One` → nothing → the text |

Carriers: `Two`, `One`.

Parts: `Part`, `Unmade`.

## Next
| no | the text → `Four` |
"""
SHAPED_FILE = "crates/store/src/health/a.rs"
# What functions make of shapes: two forms that nobody has counted, one that borrows, one of bare names, one of a test.
SHAPED = {SHAPED_FILE: text.Text(SHAPED_FILE, """struct One;
enum Other { #[default] This, That }
struct Two(u8);
struct Part(u8);
struct Unmade(u8);
struct Hidden { rows: Vec<u8> }
enum Inner { Held(u8), Nothing }
struct View<'one>(&'one One);
enum Which { This, That }
struct OfTests(u8);
impl Inner { fn of(two: &[Two]) -> Option<Self> { None } }
impl Two { pub(super) async fn part(&self) -> Result<Part> { todo!() } fn which(&self) -> Which { Which::This } }
fn hide(one: One) -> Vec<Hidden> { Vec::new() }
fn view(one: &One) -> View<'_> { View(one) }
fn of_another(number: u8) -> Unmade { Unmade(number) }
#[cfg(test)]
mod tests { fn tested(one: One) -> OfTests { OfTests(1) } }
""")}
RUST_ONE_WAY = {
    "src/lib.rs": "mod face;\nmod engine;\nmod base;\nmod user;\nmod macros;\nmod speaker;\npub use user::User;\npub use speaker::speak;\n",
    # A function and a module may share a name: the path goes on in the module.
    "src/engine.rs": "mod lanes;\nmod pool;\nfn pool() -> pool::Pool { lanes::lane() }\n",
    "src/engine/lanes.rs": "use super::pool::Pool;\npub fn lane() -> Pool { Pool }\n",
    "src/engine/pool.rs": "pub struct Pool;\n",
    # A re-export is no definition; comments and texts import nothing.
    "src/face/mod.rs": "//! [`crate::user::User`]\nmod core;\npub use core::Core;\n",
    "src/face/core.rs": "// use crate::user::User;\npub struct Core(&'static str);\npub const TEXT: &str = \"use crate::user::User;\";\n",
    "src/user.rs": "use crate::face::Core;\nuse crate::base::*;\npub struct User(Core, Base);\n",
    # A macro has its name at the root without the root having exported it again.
    "src/macros.rs": "#[macro_export]\nmacro_rules! shout { () => {} }\n",
    "src/speaker.rs": "pub fn speak() { crate::shout!() }\n",
    # What tests in a file of their own take does not count for the file that declares them.
    "src/base.rs": "pub struct Base;\n#[cfg(test)]\nmod more;\n",
    "src/base/more.rs": "use crate::user::User;\nfn f(_: User, _: super::Base) {}\n",
}
TYPESCRIPT_CIRCLES = {
    "a.ts": 'import type { B } from "./b";\nexport type A = B;\n',
    "b.ts": 'export const b = () => import("./c");\nexport type B = number;\n',
    "c/index.tsx": 'export { d } from "../d.js";\n',
    "d.ts": 'import {\n  type A,\n} from "./a";\nexport const d: A = 1;\n',
    "e.ts": 'export * from "./f";\n',
    "f.ts": 'import "./e";\n',
}
TYPESCRIPT_ONE_WAY = {
    "a.ts": 'import { b } from "./b";\nimport { x } from "library";\nexport const a = b + x;\n',
    "b.ts": '// import { a } from "./a";\nexport const b = \'import { a } from "./a"\'.length;\n/* import "./a"; */\n',
}
FUNCTIONS = "fn six(a: u8, b: u8, c: u8, d: u8, e: Map<u8, u8>, f: u8) {}\nimpl S { fn five(&self, a: u8, b: u8, c: u8, d: u8, e: bool) {}\n fn one(&self, is_on: bool) {} }\n"
TYPESCRIPT_FUNCTIONS = """function typed(a: number, on: boolean) {}
export function guessed<T>(a: T, on = false): void {}
const arrow = (a: number, on = true) => a;
function part({ on = true }: Props, a: number) {}
function alone(on = true) {}
function other(a: number, name = "true") {}
"""
# What takes an identifier as a text, and what only looks so.
IDS_AS_TEXT = """pub fn plain(id: &str) {}
pub async fn waits(&self, patient: &PatientId, session_id: String) {}
pub const fn fixed(kind: &'static str) {}
impl S { pub fn optional(&self, mut group: Option<&str>) {} }
pub fn many<T: Copy>(a: T, uuids: &[String], of: Vec<Account>) {}
pub fn converted(account: impl Into<String>, subject: Cow<'_, str>) {}
pub fn verifying(kid: &str, action_type: &str, rows_of: &[&str], voucher_code: &str) {}
pub struct Held<'a> { pub sync_id: Option<String>, pub name: String, record_id: String, pub group: &'a str, }
"""
IDS_AS_IDS = """fn own(id: &str) {}
pub(crate) fn of_the_crate(id: &str) {}
pub fn typed(id: &PatientId, text: &str, valid: &str, name: String) {}
pub fn handed_over(key: impl Fn(&str) -> bool, groups: &BTreeMap<GroupCode, String>) {}
// pub fn shown(id: &str) {}
pub struct Typed { pub id: PatientId, pub name: String, pub keys: BTreeMap<String, ApiKeyId> }
struct Own { pub id: String }
#[cfg(test)]
mod tests { pub fn tested(id: &str) {} }
"""


UNBOXED = """impl HealthDb {
    pub async fn plain(&self) {}
    pub(crate) async fn of_the_crate(&self) {}
    pub fn at_once(&self) {}
}
#[boxed_futures]
impl HealthDb {
    pub async fn boxed(&self) {}
}
impl Other {
    pub async fn of_another(&self) {}
}
#[cfg(test)]
mod tests { impl HealthDb {
    pub async fn tested(&self) {}
} }
"""


OPENINGS = """//! A file.
//! What follows is no opening.
/// What it holds.
/// How long.
fn f() {}
    /// Whatever is left.
// What is no documentation.
//// Nor is this.
"""


def found_in(files, with_named=True, with_calls=False):
    """The circles of some planted files, as sets of paths; also those that go through files that are only named."""
    with tempfile.TemporaryDirectory() as folder:
        for path, content in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(content)
        sources = text.sources(folder)
        defining, naming = rust.imports(sources)
        calls = rust.calls(sources) if with_calls else {}
        edges = circles.joined(defining, naming if with_named else {}, typescript.imports(sources), calls)
        return [set(circle) for circle in circles.circles(edges)]


def ids_found_in(path, content):
    return [(name, argument) for _, name, argument in ids_as_text.found(text.Text(path, content))]


def expect(what, found, expected):
    print(f"{'ok  ' if found == expected else 'FAIL'} {what}" + ("" if found == expected else f": {found}, not {expected}"))
    return found == expected


def run():
    """Runs all; 1 where any has failed."""
    functions_file = text.Text("f.rs", FUNCTIONS)
    typescript_functions = text.Text("f.ts", TYPESCRIPT_FUNCTIONS)
    counted = text.Text("g.rs", '/// doc\nfn f() {} // why\n// "\nfn g() { "// none"; \'"\'; }\n')
    held = [
        expect("circles of Rust", found_in(RUST_CIRCLES), [
            {"a/src/one.rs", "a/src/two.rs"}, {"b/src/inner.rs", "b/src/lib.rs", "b/src/outer.rs"},
            {"c/src/parent/mod.rs", "c/src/parent/child.rs"}, {"d/src/face/mod.rs", "d/src/face/user.rs"},
            {"e/src/parent/mod.rs", "e/src/parent/child.rs"}, {"f/src/list.rs", "f/src/topic/mod.rs"},
            {"g/src/contract/bracelets.rs", "g/src/contract/people.rs"}, {"h/src/base.rs", "h/src/user.rs"},
        ]),
        expect("circles of definitions", found_in(RUST_CIRCLES, with_named=False), [
            {"a/src/one.rs", "a/src/two.rs"}, {"b/src/inner.rs", "b/src/outer.rs"},
            {"c/src/parent/mod.rs", "c/src/parent/child.rs"}, {"g/src/contract/bracelets.rs", "g/src/contract/people.rs"},
            {"h/src/base.rs", "h/src/user.rs"},
        ]),
        expect("no circle of Rust", found_in(RUST_ONE_WAY), []),
        expect("circles of calls", found_in(RUST_CALLS, with_calls=True), [{"src/base.rs", "src/above.rs"}]),
        expect("no circle without the calls", found_in(RUST_CALLS), []),
        expect("shapes that are listed", shapes.listed(SHAPES), (
            {"long": [["the text"], ["One", "Other"], ["Gone"], ["the text"]], "torn": [["One"], [], ["the text"]]}, ["Two", "One"],
            ["Part", "Unmade"])),
        expect("faults of the list of shapes", shapes.faults(SHAPED, *shapes.listed(SHAPES)), [
            "Gone is no type", "One is a shape and a carrier", "a step of torn names nothing",
            "torn does not begin and end with the text",
            f"Hidden is made of a sample and is on no list: {SHAPED_FILE} hide",
            f"Inner is made of a sample and is on no list: {SHAPED_FILE} of",
            "nothing makes the part Unmade"]),
        expect("circles of TypeScript", found_in(TYPESCRIPT_CIRCLES), [{"a.ts", "b.ts", "c/index.tsx", "d.ts"}, {"e.ts", "f.ts"}]),
        expect("no circle of TypeScript", found_in(TYPESCRIPT_ONE_WAY), []),
        expect("many arguments", [name for _, name, _ in functions.with_many_arguments(functions_file, 5)], ["six"]),
        expect("bare bools", [name for _, name, _ in functions.with_bare_bools(functions_file)], ["five"]),
        expect("bare bools of TypeScript", [name for _, name, _ in functions.with_bare_bools(typescript_functions)],
               ["typed", "guessed", "arrow"]),
        expect("identifiers as text", ids_found_in("crates/store/src/a.rs", IDS_AS_TEXT), [
            ("Held", "sync_id"), ("Held", "group"), ("plain", "id"), ("waits", "session_id"), ("fixed", "kind"), ("optional", "group"), ("many", "uuids"),
            ("converted", "account"), ("converted", "subject"), ("verifying", "kid"), ("verifying", "action_type"),
            ("verifying", "rows_of"), ("verifying", "voucher_code"),
        ]),
        expect("identifiers as identifiers", ids_found_in("crates/store/src/a.rs", IDS_AS_IDS), []),
        expect("identifiers of other crates", ids_found_in("crates/bracelet/src/a.rs", IDS_AS_TEXT), []),
        expect("allowance", ids_found_in("crates/api/src/parameters.rs", "pub fn one(key: &str, id: &str) {}"), [("one", "id")]),
        expect("allowances that nothing needs", ids_as_text.unused({}), sorted(ids_as_text.ALLOWED)),
        expect("functions without boxes", [name for _, _, name in unboxed.found(text.Text("crates/store/src/a.rs", UNBOXED))],
               ["plain"]),
        expect("openings", list(openings.of(OPENINGS)), ["A file.", "What it holds.", "Whatever is left."]),
        expect("openings that ask", openings.counts({"a.rs": text.Text("a.rs", OPENINGS)}), (1, 3)),
        expect("lines of comments", (counted.comment_lines, counted.code_lines()), ({1, 2}, {1, 3})),
    ]
    return 0 if all(held) else 1
