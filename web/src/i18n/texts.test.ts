// SPDX-License-Identifier: MIT
// What the type check cannot see of the texts: empty ones, other placeholders, the wrong script, unused keys.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import en from './en'
import zhCN from './zh-CN'
import zhTW from './zh-TW'

type Tree = { [key: string]: string | Tree }

function flatten(tree: Tree, prefix = ''): Map<string, string> {
  const flat = new Map<string, string>()
  for (const [key, value] of Object.entries(tree)) {
    if (typeof value === 'string') flat.set(prefix + key, value)
    else for (const [k, v] of flatten(value, `${prefix}${key}.`)) flat.set(k, v)
  }
  return flat
}

const english = flatten(en)
const others = [
  ['zh-CN', flatten(zhCN)],
  ['zh-TW', flatten(zhTW)],
] as const

/** `{n}` of a plural may be left out where the number is in the words: "one node | {n} nodes". */
function placeholders(text: string): string[] {
  return [...new Set(text.match(/\{[a-zA-Z]\w*\}/g) ?? [])].sort()
}

// Characters that only one of the scripts has: common ones, not all.
const SIMPLIFIED =
  '们这来说为对时发过还没动务执节点电关于后开间应实现从业样认设无计线给变经话总问题见传数组链级报类转运选显标签规误确错试码参头详长读写订种处请删编辑录复启终导备随场轮询调触则储历库径临释网证钥书预览资载获监视环个缓统'
const TRADITIONAL =
  '們這來說為對時發過還沒動務執節點電關於後開間應實現從業樣認設無計線給變經話總問題見傳數組鏈級報類轉運選顯標籤規誤確錯試碼參頭詳長讀寫訂種處請刪編輯錄複啟終導備隨場輪詢調觸則儲歷庫徑臨釋網證鑰書預覽資載獲監視環個緩統'

/** What both lists have is of both scripts. */
function onlyIn(list: string, other: string): Set<string> {
  const shared = new Set(other)
  return new Set([...list].filter((c) => !shared.has(c)))
}

function wrongScript(texts: Map<string, string>, banned: Set<string>): string[] {
  return [...texts].filter(([, text]) => [...text].some((c) => banned.has(c))).map(([key, text]) => `${key}: ${text}`)
}

describe.each(others)('%s', (_, texts) => {
  it('has every text', () => {
    expect([...texts].filter(([, text]) => !text.trim()).map(([key]) => key)).toEqual([])
    expect([...english.keys()].filter((key) => !texts.has(key))).toEqual([])
  })
  it('has the placeholders of the English one', () => {
    const wrong = [...english]
      .filter(([key, text]) => placeholders(text).join() !== placeholders(texts.get(key) ?? '').join())
      .map(([key, text]) => `${key}: "${text}" / "${texts.get(key)}"`)
    expect(wrong).toEqual([])
  })
})

describe('scripts', () => {
  it('zh-CN is written in simplified characters', () => {
    expect(wrongScript(others[0][1], onlyIn(TRADITIONAL, SIMPLIFIED))).toEqual([])
  })
  it('zh-TW is written in traditional characters', () => {
    expect(wrongScript(others[1][1], onlyIn(SIMPLIFIED, TRADITIONAL))).toEqual([])
  })
  it('tells them apart', () => {
    const text = new Map([['a', '執行器']])
    expect(wrongScript(text, onlyIn(TRADITIONAL, SIMPLIFIED))).toHaveLength(1)
    expect(wrongScript(text, onlyIn(SIMPLIFIED, TRADITIONAL))).toEqual([])
  })
})

/** All sources of the console but the texts. */
function readSources(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .filter((f) => f.name !== 'i18n' || !f.isDirectory())
    .map((f) => {
      const path = join(folder, f.name)
      if (f.isDirectory()) return readSources(path)
      return /\.(vue|ts)$/.test(f.name) && !f.name.endsWith('.d.ts') ? readFileSync(path, 'utf8') : ''
    })
    .join('\n')
}

it('each text is used: named whole, or below a prefix that is put together', () => {
  const source = readSources(fileURLToPath(new URL('..', import.meta.url)))
  const named = new Set([...source.matchAll(/['"`]([a-zA-Z]+(?:\.[\w-]+)+)['"`]/g)].map((m) => m[1]!))
  const built = [...source.matchAll(/[`'"]([a-zA-Z]+(?:\.[\w-]+)*\.[\w-]*)(?:\$\{|['"] \+)/g)].map((m) => m[1]!)
  const unused = [...english.keys()].filter((key) => !named.has(key) && !built.some((prefix) => key.startsWith(prefix)))
  expect(unused).toEqual([])
})

it('no element begins or ends with a space before or after a text: Vue drops it, and words run together', () => {
  const source = readSources(fileURLToPath(new URL('..', import.meta.url)))
  expect(source.match(/^.*(?:(?:"|<\w+)> (?:\{\{|<)|\}\} <\/).*$/gm) ?? []).toEqual([])
})
