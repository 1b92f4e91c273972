"""The language server, used like three editors use it: with the capabilities that they send, and in their order."""

import asyncio
import shutil
import subprocess

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from support.paths import CCLC, ROOT, SERVER
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

    refreshed = []
    for view in (lsp.WORKSPACE_CODE_LENS_REFRESH, lsp.WORKSPACE_INLAY_HINT_REFRESH, lsp.WORKSPACE_SEMANTIC_TOKENS_REFRESH):
        lsp_client.feature(view)(lambda *_, view=view: refreshed.append(view))

    # As the sides of the editors do that run the commands of lenses.
    capabilities = client_capabilities(request.param)
    capabilities.experimental = {"commands": {"commands": ["ccl.showElaborated", "ccl.buildPlan", "ccl.run"]}}

    lsp_client.registered = registered
    lsp_client.refreshed = refreshed
    lsp_client.session = await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=capabilities,
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
    """Opens a file as the editor does, and waits for its diagnostics."""
    item = lsp.TextDocumentItem(uri=uri(client, name), language_id="ccl", version=1, text=content or text(name))
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
    return await settled(client, name)


async def settled(client, name, version=1):
    """The diagnostics of a file in its current version, once no more arrive."""
    key = uri(client, name)
    while True:
        await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        if key in client.diagnostics:
            return list(client.diagnostics[key])


async def until(client, name, condition):
    """Waits for diagnostics of a file that meet a condition."""
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
    """A text after edits; all its characters must be a single unit."""
    lines = content.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    offset = lambda at: starts[min(at.line, len(lines))] + at.character
    for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
        content = content[: offset(edit.range.start)] + edit.new_text + content[offset(edit.range.end) :]
    return content


def edits_of(edit: lsp.WorkspaceEdit, key):
    """The edits of one file, in either of the protocol's forms."""
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
    race, other = await until(client, "race.ccl", lambda reports: len(reports) == 2)
    assert race.code == other.code == "E0501"
    assert race.severity == lsp.DiagnosticSeverity.Error
    assert race.range.start == position("race.ccl", "put output")
    places = [related.location.range.start for related in race.related_information]
    assert position("race.ccl", "copy input") in places
    assert other.severity == lsp.DiagnosticSeverity.Information
    assert other.range.start == position("race.ccl", "copy input")


@pytest.mark.asyncio
async def test_reports_follow_the_text(client):
    await open_file(client, "race.ccl")
    await until(client, "race.ccl", lambda reports: [report.code for report in reports] == ["E0501", "E0501"])
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
    # Lenses are refreshed only if they were shown before.
    await client.text_document_code_lens_async(lsp.CodeLensParams(text_document=document(client, "gather.ccl")))
    (client.folder / "lib.ccl").write_text("/// One.\nfn other() -> int = 1;\n")
    change = lsp.FileEvent(uri=uri(client, "lib.ccl"), type=lsp.FileChangeType.Changed)
    client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams(changes=[change]))
    reports = await until(client, "gather.ccl", lambda reports: len(reports) > 0)
    assert any("one" in report.message for report in reports)
    if client.editor == "visual_studio_code":
        # The only one of the three that can be asked to request lenses again.
        async with asyncio.timeout(60):
            while lsp.WORKSPACE_CODE_LENS_REFRESH not in client.refreshed:
                await asyncio.sleep(0.01)
    assert client.editor == "visual_studio_code" or not client.refreshed


@pytest.mark.asyncio
async def test_what_stands_between_the_words(client):
    await open_file(client, "gather.ccl")
    lines = text("gather.ccl").count("\n")
    everything = lsp.Range(start=lsp.Position(line=0, character=0), end=lsp.Position(line=lines, character=0))
    hints = await client.text_document_inlay_hint_async(
        lsp.InlayHintParams(text_document=document(client, "gather.ccl"), range=everything)
    )
    labels = {(hint.position.line, hint.label) for hint in hints}
    line = place("gather.ccl", "let next")[0]
    assert (line, ": rank") in labels
    assert any(at == line and label.startswith("= 1") for at, label in labels)


@pytest.mark.asyncio
async def test_lenses_say_what_is_known(client):
    await open_file(client, "gather.ccl")
    params = lsp.CodeLensParams(text_document=document(client, "gather.ccl"))
    lenses = await client.text_document_code_lens_async(params)
    assert {lens.range.start.line for lens in lenses} == {place("gather.ccl", "program gather")[0]}
    assert lenses[0].command.title.startswith("4 ranks") and lenses[0].command.title.endswith("proved")
    assert [lens.command.command for lens in lenses[1:]] == ["ccl.buildPlan", "ccl.run"]


@pytest.mark.asyncio
async def test_tokens_whole_and_changed(client):
    await open_file(client, "gather.ccl")
    where = {"text_document": document(client, "gather.ccl")}
    whole = await client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(**where))
    legend = client.session.capabilities.semantic_tokens_provider.legend
    assert len(whole.data) % 5 == 0 and max(whole.data[3::5]) < len(legend.token_types)
    edited(client, "gather.ccl", "// One line more.\n" + text("gather.ccl"))
    delta = await client.text_document_semantic_tokens_full_delta_async(
        lsp.SemanticTokensDeltaParams(previous_result_id=whole.result_id, **where)
    )
    again = await client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(**where))
    data = list(whole.data)
    for edit in sorted(delta.edits, key=lambda edit: -edit.start):
        data[edit.start : edit.start + edit.delete_count] = edit.data or []
    assert data == list(again.data)


@pytest.mark.asyncio
async def test_calls_lead_both_ways(client):
    await open_file(client, "gather.ccl")
    where = {"text_document": document(client, "gather.ccl"), "position": position("gather.ccl", "proc meet", "meet")}
    (meet,) = await client.text_document_prepare_call_hierarchy_async(lsp.CallHierarchyPrepareParams(**where))
    callers = await client.call_hierarchy_incoming_calls_async(lsp.CallHierarchyIncomingCallsParams(item=meet))
    assert [(call.from_.name, len(call.from_ranges)) for call in callers] == [("gather", 2)]
    called = await client.call_hierarchy_outgoing_calls_async(lsp.CallHierarchyOutgoingCallsParams(item=callers[0].from_))
    # The collective that it implements counts as called.
    assert {call.to.name for call in called} == {"meet", "after", "allgather"}


@pytest.mark.asyncio
async def test_arguments_are_named_while_they_are_typed(client):
    await open_file(client, "gather.ccl")
    line, character = place("gather.ccl", "after(rank, ranks)", "ranks")
    help = await client.text_document_signature_help_async(
        lsp.SignatureHelpParams(text_document=document(client, "gather.ccl"), position=lsp.Position(line=line, character=character))
    )
    assert help.active_parameter == 1
    assert "after(r: rank, n: int)" in help.signatures[0].label


@pytest.mark.asyncio
async def test_folds_and_selections_hold_what_belongs_together(client):
    await open_file(client, "gather.ccl")
    where = {"text_document": document(client, "gather.ccl")}
    folds = await client.text_document_folding_range_async(lsp.FoldingRangeParams(**where))
    assert place("gather.ccl", "block main")[0] in {fold.start_line for fold in folds}
    at = position("gather.ccl", "put output[rank] -> next", "next")
    (selection,) = await client.text_document_selection_range_async(lsp.SelectionRangeParams(positions=[at], **where))
    depth = 0
    while selection.parent:
        inner, selection = selection.range, selection.parent
        assert (selection.range.start.line, selection.range.start.character) <= (inner.start.line, inner.start.character)
        depth += 1
    assert depth > 3


@pytest.mark.asyncio
async def test_a_program_is_elaborated_as_the_compiler_dumps_it(client):
    await open_file(client, "gather.ccl")
    asked = {"textDocument": {"uri": uri(client, "gather.ccl")}, "program": "gather"}
    answer = await client.protocol.send_request_async("ccl/elaborated", asked)
    dumped = subprocess.run([CCLC, "dump", "gather.ccl"], cwd=client.folder, text=True, capture_output=True, check=True)
    assert answer.text == dumped.stdout


@pytest.mark.asyncio
async def test_a_deadlock_names_everyone_in_the_circle(client):
    content = (ROOT / "compiler/tests/cases/deadlock/blocks_that_wait_for_each_other.ccl").read_text()
    await open_file(client, "circle.ccl", content)
    reports = await until(client, "circle.ccl", lambda reports: any(report.code == "E0601" for report in reports))
    circle = next(report for report in reports if report.code == "E0601")
    places = [related.location.range.start.line for related in circle.related_information]
    lines = content.splitlines()
    assert "acquire" in lines[circle.range.start.line]
    assert any("acquire" in lines[place] and place != circle.range.start.line for place in places)


@pytest.mark.asyncio
async def test_the_settings_of_the_editor_count(client):
    await open_file(client, "gather.ccl")
    asked = lsp.CodeLensParams(text_document=document(client, "gather.ccl"))
    for ranks in (2, 6):
        settings = {"ccl": {"parameters": {"ranks": ranks}}}
        client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=settings))
        lenses = await client.text_document_code_lens_async(asked)
        assert lenses[0].command.title.startswith(f"{ranks} ranks")


@pytest.mark.asyncio
async def test_a_part_is_formatted_and_a_line_when_it_ends(client):
    untidy = text("gather.ccl").replace("        meet(mem);", "   meet( mem ) ;")
    await open_file(client, "gather.ccl", untidy)
    where = {"text_document": document(client, "gather.ccl"), "options": lsp.FormattingOptions(tab_size=4, insert_spaces=True)}
    first = next(number for number, line in enumerate(untidy.splitlines()) if line.startswith("   meet("))
    line = lsp.Range(start=lsp.Position(line=first, character=0), end=lsp.Position(line=first, character=17))
    edits = await client.text_document_range_formatting_async(lsp.DocumentRangeFormattingParams(range=line, **where))
    once = text("gather.ccl").replace("        meet(mem);\n    }", "   meet( mem ) ;\n    }")
    assert applied(untidy, edits) == once
    typed = lsp.DocumentOnTypeFormattingParams(position=line.end, ch=";", **where)
    assert applied(untidy, await client.text_document_on_type_formatting_async(typed)) == once
