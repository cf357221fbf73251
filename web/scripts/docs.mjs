// SPDX-License-Identifier: MIT
// Writes docs/*.md as pages into the folder that is named: static HTML without scripts, styled by one file, with the
// tokens of the console. The pages are in the chapters and in the order of docs/index.md, each with a link to the next. A
// link between documents that leads nowhere, and a page that docs/index.md does not have, end it with an error.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import MarkdownIt from 'markdown-it'

const top = fileURLToPath(new URL('../..', import.meta.url))
const source = join(top, 'docs')
const target = resolve(process.argv[2] ?? join(top, 'build/web/docs'))

const md = new MarkdownIt({ linkify: false })

/** As the address of a heading is made on code hosts, so that links mean the same in both places. */
function slug(text) {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-')
}

const textOf = (inline) => inline.children.map((token) => token.content).join('')

/** Gives headings their addresses, as `anchors`, and finds the title. */
function nameHeadings(tokens) {
  const anchors = new Set()
  let title = ''
  tokens.forEach((token, i) => {
    if (token.type !== 'heading_open') return
    const text = textOf(tokens[i + 1])
    let id = slug(text)
    for (let n = 1; anchors.has(id); n++) id = `${slug(text)}-${n}`
    anchors.add(id)
    token.attrSet('id', id)
    if (token.tag === 'h1' && !title) title = text
  })
  return { anchors, title }
}

/** Alignment by class: the pages' policy lets no style attribute in. */
function alignByClass(tokens) {
  for (const token of tokens) {
    const align = /text-align:(\w+)/.exec(token.attrGet('style') ?? '')
    if (!align) continue
    token.attrs = token.attrs.filter(([name]) => name !== 'style')
    token.attrSet('class', align[1])
  }
}

const inlines = (tokens) => tokens.flatMap((token) => token.children ?? [])

/** Links to other documents lead to their pages; those into the source tree, which is not here, become plain text. */
function turnLinks(page, pages, images) {
  let dropped = false
  for (const token of inlines(page.tokens)) {
    if (token.type === 'image') {
      // The mark is the console's, which lies above.
      if (token.attrGet('src') === '../web/public/favicon.svg') token.attrSet('src', '../favicon.svg')
      else images.add(token.attrGet('src'))
    }
    if (token.type === 'link_close' && dropped) {
      token.type = 'text'
      dropped = false
    }
    if (token.type !== 'link_open') continue
    const [, file, anchor] = /^([^#]*)#?(.*)$/.exec(token.attrGet('href'))
    if (/^[a-z]+:/.test(file)) continue
    const name = file ? basename(file, '.md') : page.name
    if (file && (file !== `${name}.md` || !pages.has(name))) {
      if (!existsSync(join(source, file))) throw new Error(`docs/${page.name}.md: there is no ${file}`)
      token.type = 'text'
      token.content = ''
      dropped = true
      continue
    }
    if (anchor && !pages.get(name).anchors.has(anchor))
      throw new Error(`docs/${page.name}.md: ${name}.md has no heading #${anchor}`)
    token.attrSet('href', `${file ? `${name}.html` : ''}${anchor ? `#${anchor}` : ''}`)
  }
}

function layOut(title, nav, body, next) {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${md.utils.escapeHtml(title)} - shardwheel</title>
<link rel="icon" type="image/svg+xml" href="../favicon.svg">
<link rel="stylesheet" href="docs.css">
</head>
<body>
<nav aria-label="Documents"><a class="home" href="../">Console</a>
<a class="home" href="index.html">Documents</a>
${nav}</nav>
<main>
${body}${next}</main>
</body>
</html>
`
}

const linkTo = ({ name, title }, mark) => `<a href="${name}.html"${mark}>${md.utils.escapeHtml(title)}</a>`

function listPages(chapters, pages, current) {
  const items = (names) =>
    names.map((name) => `<li>${linkTo(pages.get(name), name === current ? ' aria-current="page"' : '')}</li>\n`)
  return chapters.map(({ title, names }) => `<p>${title}</p>\n<ul>\n${items(names).join('')}</ul>\n`).join('')
}

function linkNext(pages, current) {
  const names = [...pages.keys()]
  const next = pages.get(names[names.indexOf(current) + 1])
  return next ? `<p>Next: ${linkTo(next, '')}</p>\n` : ''
}

/** The tokens of the console, dark where the browser is: no script is here to choose. */
function writeStyles() {
  const tokens = readFileSync(join(top, 'web/src/theme/tokens.css'), 'utf8')
  const themed = tokens.replace(/:root\[data-theme='dark'\] (\{[^}]*\})/, '@media (prefers-color-scheme: dark) {\n:root $1\n}')
  if (themed === tokens) throw new Error('web/src/theme/tokens.css: the dark theme was not found')
  const own = readFileSync(new URL('docs.css', import.meta.url), 'utf8')
  writeFileSync(join(target, 'docs.css'), themed + own)
}

function readPage(name) {
  const text = readFileSync(join(source, `${name}.md`), 'utf8').replace(/^<!--.*-->$/gm, '')
  const tokens = md.parse(text, {})
  return { name, tokens, ...nameHeadings(tokens) }
}

/** The chapters of the index, each with the names of its pages in order. */
function readChapters() {
  const text = readFileSync(join(source, 'index.md'), 'utf8')
  const chapters = [...text.matchAll(/^## (.+)\n([^#]*)/gm)].map(([, title, lines]) => ({
    title,
    names: [...lines.matchAll(/\]\((\w+)\.md\)/g)].map((match) => match[1]),
  }))
  const listed = chapters.flatMap(({ names }) => names)
  const files = readdirSync(source).filter((name) => name.endsWith('.md')).map((name) => basename(name, '.md'))
  const unlisted = files.filter((name) => name !== 'index' && !listed.includes(name))
  if (unlisted.length) throw new Error(`docs/index.md does not have ${unlisted.join(', ')}`)
  return chapters
}

const chapters = readChapters()
const pages = new Map(['index', ...chapters.flatMap(({ names }) => names)].map((name) => [name, readPage(name)]))
mkdirSync(target, { recursive: true })
const images = new Set()
for (const page of pages.values()) {
  alignByClass(page.tokens)
  turnLinks(page, pages, images)
  const body = md.renderer.render(page.tokens, md.options, {})
  writeFileSync(join(target, `${page.name}.html`), layOut(page.title, listPages(chapters, pages, page.name), body, linkNext(pages, page.name)))
}
for (const image of images) {
  mkdirSync(dirname(join(target, image)), { recursive: true })
  cpSync(join(source, image), join(target, image))
}
writeStyles()
