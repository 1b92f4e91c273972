"""Plans of ccl programs as Bazel targets.

In: source files and everything that they import. Out: execution plans with their manifests, and tests that check programs. The compiler
comes from the repository that `ccl_compiler` makes.
"""

# The files in a sandbox are links that lead out of it, so the folder in which imports must be is the root of all files. A file
# that is not among `imports` does not exist there.
_ROOT = ["--root", "/"]

def _define(values):
    """The arguments that set parameters."""
    return [word for name in values for word in ("-D", "%s=%s" % (name, values[name]))]

def _ccl_compiler(repository):
    given = repository.os.environ.get("CCLC") or repository.attr.path
    found = repository.path(given) if given else repository.which("cclc")
    if not found:
        fail("cclc is not on PATH; CCLC, or `path` of ccl_compiler, names it")
    repository.symlink(found, "cclc")
    repository.file("BUILD.bazel", 'exports_files(["cclc"], visibility = ["//visibility:public"])\n')

ccl_compiler = repository_rule(
    implementation = _ccl_compiler,
    attrs = {"path": attr.string(doc = "The path of cclc; without it, PATH is searched.")},
    environ = ["CCLC", "PATH"],
    local = True,
    doc = "The compiler: the one that CCLC names, or that of `path`, or the one on PATH. Its name must be `cclc`.",
)

_PROGRAM = {
    "src": attr.label(allow_single_file = [".ccl"], mandatory = True, doc = "The program."),
    "imports": attr.label_list(allow_files = [".ccl"], doc = "The files that it imports, and those that these import."),
    "_cclc": attr.label(default = "@cclc//:cclc", allow_single_file = True, executable = True, cfg = "exec"),
}

def _ccl_plan(context):
    plan = context.actions.declare_file(context.label.name + ".json")
    manifest = context.actions.declare_file(context.label.name + ".manifest.json")
    options = dict(context.attr.options)
    options.setdefault("name", context.label.name)
    arguments = context.actions.args()
    arguments.add("build").add_all(_ROOT + _define(context.attr.define))
    for name in options:
        arguments.add("-O", "%s=%s" % (name, options[name]))
    arguments.add("--emit", plan, format = "plan=%s").add("--emit", manifest, format = "manifest=%s")
    arguments.add("--").add(context.file.src)
    context.actions.run(
        executable = context.executable._cclc,
        arguments = [arguments],
        inputs = [context.file.src] + context.files.imports,
        outputs = [plan, manifest],
        mnemonic = "CclPlan",
        progress_message = "Building the plan %s" % plan.short_path,
    )
    return [DefaultInfo(files = depset([plan, manifest]))]

ccl_plan = rule(
    implementation = _ccl_plan,
    attrs = dict(
        _PROGRAM,
        define = attr.string_dict(doc = "Parameters of the program."),
        options = attr.string_dict(doc = "Options of the plan; by default, its `name` is that of the target."),
    ),
    doc = "NAME.json and NAME.manifest.json, of a program that passes all checks.",
)

def _ccl_check_test(context):
    words = ["check"] + _ROOT + _define(context.attr.define) + ["--", context.file.src.short_path]
    quoted = ["'%s'" % word.replace("'", "'\\''") for word in [context.executable._cclc.short_path] + words]
    context.actions.write(context.outputs.executable, "#!/bin/sh\nexec %s\n" % " ".join(quoted), is_executable = True)
    needed = [context.executable._cclc, context.file.src] + context.files.imports
    return [DefaultInfo(runfiles = context.runfiles(needed))]

ccl_check_test = rule(
    implementation = _ccl_check_test,
    attrs = dict(_PROGRAM, define = attr.string_dict(doc = "Parameters, or ranges of them, such as `2..=16`.")),
    test = True,
    doc = "A test that the checks find nothing in a program.",
)
