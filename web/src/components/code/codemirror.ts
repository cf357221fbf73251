// SPDX-License-Identifier: MIT
/**
 * codemirror: the editor for sources and the comparison of two. Loaded when it is first needed; each language comes on
 * its own. Styles carry the nonce of the page; colours are tokens.
 */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import {
  bracketMatching,
  foldGutter,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  StreamLanguage,
  syntaxHighlighting,
} from '@codemirror/language'
import { MergeView, unifiedMergeView } from '@codemirror/merge'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { EditorState, StateEffect, StateField, type Extension } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { lineEndOf, type CodeLanguage, type Mark } from './language'

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''

const LOAD: Record<CodeLanguage, () => Promise<Extension>> = {
  java: async () => (await import('@codemirror/lang-java')).java(),
  python: async () => (await import('@codemirror/lang-python')).python(),
  php: async () => (await import('@codemirror/lang-php')).php(),
  javascript: async () => (await import('@codemirror/lang-javascript')).javascript(),
  shell: async () => StreamLanguage.define((await import('@codemirror/legacy-modes/mode/shell')).shell),
  json: async () => StreamLanguage.define((await import('@codemirror/legacy-modes/mode/javascript')).json),
  powershell: async () => StreamLanguage.define((await import('@codemirror/legacy-modes/mode/powershell')).powerShell),
}

export async function loadLanguage(language: CodeLanguage | undefined): Promise<Extension> {
  return language ? LOAD[language]() : []
}

const looks = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--n-0)', color: 'var(--n-8)', fontSize: 'var(--t-m)' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--n-8)' },
  '.cm-cursor': { borderLeftColor: 'var(--n-8)' },
  '.cm-gutters': { backgroundColor: 'var(--n-1)', color: 'var(--n-6)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--n-2) 50%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--n-2)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft)',
  },
  '.cm-selectionMatch': { backgroundColor: 'var(--n-2)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--n-3)', outline: 'none' },
  '&.cm-focused': { outline: 'none' },
  '.cm-panels': { backgroundColor: 'var(--n-1)', color: 'var(--n-8)' },
  '.cm-panels-bottom': { borderTop: '1px solid var(--n-3)' },
  '.cm-textfield': { backgroundColor: 'var(--n-0)', borderColor: 'var(--n-4)', color: 'var(--n-8)' },
  '.cm-button': { backgroundImage: 'none', backgroundColor: 'var(--n-2)', borderColor: 'var(--n-4)', color: 'var(--n-8)' },
  '.cm-searchMatch': { backgroundColor: 'var(--st-skip-soft)' },
  '.cm-searchMatch-selected': { outline: '1px solid var(--st-skip)' },
  '.cm-changedLine, .cm-insertedLine, &.cm-merge-b .cm-changedLine': { backgroundColor: 'var(--st-ok-soft)' },
  '.cm-deletedChunk, .cm-deletedLine, &.cm-merge-a .cm-changedLine': { backgroundColor: 'var(--st-fail-soft)' },
  '.cm-changedText, &.cm-merge-b .cm-changedText': { background: 'none', textDecoration: 'underline var(--st-ok)' },
  '&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText': {
    background: 'none',
    textDecoration: 'underline var(--st-fail)',
  },
  '.cm-fault': { textDecoration: 'underline wavy var(--st-fail)', textUnderlineOffset: '3px' },
  '.cm-collapsedLines': { backgroundColor: 'var(--n-1)', backgroundImage: 'none', color: 'var(--n-6)' },
})

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp, tags.character], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--code-number)' },
  { tag: [tags.comment, tags.meta, tags.annotation], color: 'var(--code-comment)' },
  { tag: [tags.definition(tags.variableName), tags.function(tags.variableName)], fontWeight: '600' },
  { tag: [tags.typeName, tags.className], color: 'var(--code-type)' },
])

function common(language: Extension, label: string): Extension[] {
  return [
    EditorView.cspNonce.of(nonce),
    // A text that one cannot write into is scrolled by keys, too.
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    lineNumbers(),
    highlightSpecialChars(),
    syntaxHighlighting(colours),
    language,
    looks,
  ]
}

export interface EditorOptions {
  text: string
  language: Extension
  readOnly: boolean
  label: string
  indent?: string
  onChange: (text: string) => void
  onSave: () => void
}

export function makeEditor(parent: HTMLElement, options: EditorOptions): EditorView {
  const { text, language, readOnly, label, onChange, onSave } = options
  const save = { key: 'Mod-s', preventDefault: true, run: () => (onSave(), true) }
  const state = EditorState.create({
    doc: text,
    extensions: [
      common(language, label),
      EditorState.lineSeparator.of(lineEndOf(text)),
      indentUnit.of(options.indent ?? '    '),
      faults,
      history(),
      foldGutter(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      highlightSelectionMatches(),
      search(),
      keymap.of([save, ...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
      EditorState.readOnly.of(readOnly),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange(update.state.sliceDoc())
      }),
    ],
  })
  return new EditorView({ state, parent })
}

/** Another text in place of what is there; it can be undone. */
export function replaceText(view: EditorView, text: string): void {
  const insert = view.state.toText(text)
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert } })
}

/* ---- parts that are wrong ---- */

const setFaults = StateEffect.define<readonly Mark[]>()

/** They move with the text until the next ones come. */
const faults = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, change) {
    let next = marks.map(change.changes)
    for (const effect of change.effects) if (effect.is(setFaults)) next = decorate(effect.value, change.state.doc.length)
    return next
  },
  provide: (field) => EditorView.decorations.from(field),
})

function decorate(marks: readonly Mark[], length: number): DecorationSet {
  const inside = marks.filter((m) => m.from < m.to && m.to <= length)
  return Decoration.set(
    inside.map((m) => Decoration.mark({ class: 'cm-fault', attributes: { title: m.text } }).range(m.from, m.to)),
    true,
  )
}

export function markFaults(view: EditorView, marks: readonly Mark[]): void {
  view.dispatch({ effects: setFaults.of(marks) })
}

/** To a place of the text, and the focus with it. */
export function showPlace(view: EditorView, at: number): void {
  const place = Math.min(at, view.state.doc.length)
  view.dispatch({ selection: { anchor: place }, effects: EditorView.scrollIntoView(place, { y: 'center' }) })
  view.focus()
}

export interface DiffOptions {
  before: string
  after: string
  language: Extension
  label: string
  /** One below the other, for narrow windows. */
  unified: boolean
}

export function makeDiff(parent: HTMLElement, options: DiffOptions): { destroy: () => void } {
  const { before, after, language, label, unified } = options
  const shared = [...common(language, label), EditorState.readOnly.of(true), EditorView.editable.of(false)]
  const collapseUnchanged = { margin: 4, minSize: 8 }
  if (unified) {
    const view = unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged })
    return new EditorView({ doc: after, extensions: [...shared, EditorView.lineWrapping, view], parent })
  }
  return new MergeView({
    parent,
    a: { doc: before, extensions: shared },
    b: { doc: after, extensions: shared },
    collapseUnchanged,
  })
}
