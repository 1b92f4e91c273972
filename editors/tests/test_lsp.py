"""The language server, spoken to as three editors speak: with the capabilities that they send, and in their order."""

import shutil

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from support.paths import SERVER
from support.programs import FOLDER, place, text

EDITORS = ["visual_studio_code", "neovim@v0.7", "emacs"]


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "workspace"
    shutil.copytree(FOLDER, folder)
    return folder


@pytest_lsp.fixture(params=EDITORS, config=ClientServerConfig(server_command=[str(SERVER), "--stdio"]))
async def client(request, lsp_client: LanguageClient, workspace):
    registered = []

    @lsp_client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    def register(params: lsp.RegistrationParams):
        registered.extend(registration.method for registration in params.registrations)

    lsp_client.registered = registered
    lsp_client.session = await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities(request.param),
            root_uri=workspace.as_uri(),
            workspace_folders=[lsp.WorkspaceFolder(uri=workspace.as_uri(), name="workspace")],
        )
    )
    lsp_client.folder = workspace
    lsp_client.editor = request.param
    yield lsp_client
    await lsp_client.shutdown_session()


def uri(client, name):
    return (client.folder / name).as_uri()


def document(client, name):
    return lsp.TextDocumentIdentifier(uri=uri(client, name))


def position(*where):
    line, character = place(*where)
    return lsp.Position(line=line, character=character)


async def open_file(client, name, content=None):
    """Opens a file as the editor does, and waits for what is reported of it."""
    item = lsp.TextDocumentItem(uri=uri(client, name), language_id="ccl", version=1, text=content or text(name))
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
    return await settled(client, name)


async def settled(client, name, version=1):
    """The reports of a file, of this version, when no more come."""
    key = uri(client, name)
    while True:
        await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        if key in client.diagnostics:
            return list(client.diagnostics[key])


async def until(client, name, condition):
    """Waits for reports of a file that meet a condition."""
    reports = list(client.diagnostics.get(uri(client, name), []))
    while not condition(reports):
        await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        reports = list(client.diagnostics.get(uri(client, name), []))
    return reports


def edited(client, name, content, version=2):
    """Replaces the text of a file."""
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            text_document=lsp.VersionedTextDocumentIdentifier(uri=uri(client, name), version=version),
            content_changes=[lsp.TextDocumentContentChangeWholeDocument(text=content)],
        )
    )


def applied(content, edits):
    """A text after edits, whose characters are all of one unit."""
    lines = content.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    offset = lambda at: starts[min(at.line, len(lines))] + at.character
    for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
        content = content[: offset(edit.range.start)] + edit.new_text + content[offset(edit.range.end) :]
    return content


def edits_of(edit: lsp.WorkspaceEdit, key):
    """The edits of one file, in either form."""
    if edit.changes:
        return list(edit.changes[key])
    return [
        single
        for change in edit.document_changes
        if isinstance(change, lsp.TextDocumentEdit) and change.text_document.uri == key
        for single in change.edits
    ]


@pytest.mark.asyncio
async def test_a_sound_program_has_no_reports(client):
    assert await open_file(client, "gather.ccl") == []


@pytest.mark.asyncio
async def test_a_race_is_reported_with_both_places(client):
    await open_file(client, "race.ccl")
    (race,) = await until(client, "race.ccl", lambda reports: len(reports) == 1)
    assert race.code == "E0501"
    assert race.severity == lsp.DiagnosticSeverity.Error
    assert race.range.start == position("race.ccl", "put output")
    places = [related.location.range.start for related in race.related_information]
    assert position("race.ccl", "copy input") in places


@pytest.mark.asyncio
async def test_reports_follow_the_text(client):
    await open_file(client, "race.ccl")
    await until(client, "race.ccl", lambda reports: [report.code for report in reports] == ["E0501"])
    edited(client, "race.ccl", text("race.ccl").replace("put output[rank]", "put input[0]"))
    assert await until(client, "race.ccl", lambda reports: not reports) == []
    edited(client, "race.ccl", text("race.ccl").replace("copy input[0]", "copy"), version=3)
    await until(client, "race.ccl", lambda reports: any(str(report.code).startswith("E01") for report in reports))


@pytest.mark.asyncio
async def test_columns_count_as_the_editor_counts(client):
    content = text("typo.ccl").replace("copy inptu[0]", 'require true, "é𝔘"; copy inptu[0]')
    await open_file(client, "typo.ccl", content)
    (typo,) = await until(client, "typo.ccl", lambda reports: [report.code for report in reports] == ["E0201"])
    line = next(line for line in content.splitlines() if "inptu" in line)
    before = line[: line.index("inptu")]
    encoding = client.session.capabilities.position_encoding or "utf-16"
    units = {"utf-8": len(before.encode()), "utf-16": len(before.encode("utf-16-le")) // 2, "utf-32": len(before)}
    assert typo.range.start.character == units[encoding]


@pytest.mark.asyncio
async def test_a_quick_fix_mends_a_typo(client):
    await open_file(client, "typo.ccl")
    (typo,) = await until(client, "typo.ccl", lambda reports: len(reports) == 1)
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(
            text_document=document(client, "typo.ccl"),
            range=typo.range,
            context=lsp.CodeActionContext(diagnostics=[typo]),
        )
    )
    fix = next(action for action in actions if action.kind == lsp.CodeActionKind.QuickFix)
    if fix.edit is None:
        fix = await client.code_action_resolve_async(fix)
    mended = applied(text("typo.ccl"), edits_of(fix.edit, uri(client, "typo.ccl")))
    assert mended == text("typo.ccl").replace("inptu", "input")
    edited(client, "typo.ccl", mended)
    assert await until(client, "typo.ccl", lambda reports: not reports) == []


@pytest.mark.asyncio
async def test_hover_tells_what_a_name_is(client):
    await open_file(client, "gather.ccl")
    where = {"text_document": document(client, "gather.ccl")}
    over = lambda *at: client.text_document_hover_async(lsp.HoverParams(position=position("gather.ccl", *at), **where))
    shown = lambda hover: hover.contents.value if hasattr(hover.contents, "value") else str(hover.contents)
    after = shown(await over("let next = after", "after"))
    assert "after" in after and "comes after" in after
    assert "mem" in shown(await over("meet(mem)", "mem"))
    assert shown(await over("put output", "put"))
    assert shown(await over("let next", "next"))


@pytest.mark.asyncio
async def test_definition_leads_to_the_declaration(client):
    await open_file(client, "gather.ccl")
    found = await client.text_document_definition_async(
        lsp.DefinitionParams(
            text_document=document(client, "gather.ccl"), position=position("gather.ccl", "meet(mem)", "meet")
        )
    )
    first = found[0] if isinstance(found, (list, tuple)) else found
    start = first.range.start if isinstance(first, lsp.Location) else first.target_selection_range.start
    assert start == position("gather.ccl", "proc meet", "meet")


@pytest.mark.asyncio
async def test_references_and_rename(client):
    await open_file(client, "gather.ccl")
    where = {"text_document": document(client, "gather.ccl"), "position": position("gather.ccl", "meet(mem)", "meet")}
    context = lsp.ReferenceContext(include_declaration=True)
    found = await client.text_document_references_async(lsp.ReferenceParams(context=context, **where))
    assert len(found) == 3
    edit = await client.text_document_rename_async(lsp.RenameParams(new_name="handshake", **where))
    renamed = applied(text("gather.ccl"), edits_of(edit, uri(client, "gather.ccl")))
    assert renamed == text("gather.ccl").replace("meet(", "handshake(")


@pytest.mark.asyncio
async def test_completion_knows_names_and_verbs(client):
    if client.session.capabilities.completion_provider is None:
        pytest.skip("this server completes nothing yet")
    content = text("gather.ccl").replace("        meet(mem);\n    }", "        me\n    }")
    await open_file(client, "gather.ccl", content)
    line = next(number for number, line in enumerate(content.splitlines()) if line == "        me")
    found = await client.text_document_completion_async(
        lsp.CompletionParams(
            text_document=document(client, "gather.ccl"), position=lsp.Position(line=line, character=10)
        )
    )
    items = found.items if isinstance(found, lsp.CompletionList) else found
    assert "meet" in [item.label.split("(")[0] for item in items]


@pytest.mark.asyncio
async def test_symbols_name_what_a_file_declares(client):
    await open_file(client, "gather.ccl")
    found = await client.text_document_document_symbol_async(
        lsp.DocumentSymbolParams(text_document=document(client, "gather.ccl"))
    )
    assert [symbol.name for symbol in found][:3] == ["meet", "after", "gather"]


@pytest.mark.asyncio
async def test_formatting(client):
    untidy = text("gather.ccl").replace("        meet(mem);", "   meet( mem ) ;")
    await open_file(client, "gather.ccl", untidy)
    edits = await client.text_document_formatting_async(
        lsp.DocumentFormattingParams(
            text_document=document(client, "gather.ccl"),
            options=lsp.FormattingOptions(tab_size=4, insert_spaces=True),
        )
    )
    assert applied(untidy, edits) == text("gather.ccl")


@pytest.mark.asyncio
async def test_other_files_count(client):
    (client.folder / "lib.ccl").write_text("/// One.\nfn one() -> int = 1;\n")
    content = 'use "lib.ccl"::one;\n' + text("gather.ccl").replace("let next = after(rank, ranks)", "let next = after(rank, ranks * one())")
    assert await open_file(client, "gather.ccl", content) == []
    (client.folder / "lib.ccl").write_text("/// One.\nfn other() -> int = 1;\n")
    change = lsp.FileEvent(uri=uri(client, "lib.ccl"), type=lsp.FileChangeType.Changed)
    client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams(changes=[change]))
    reports = await until(client, "gather.ccl", lambda reports: len(reports) > 0)
    assert any("one" in report.message for report in reports)
