// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readSent } from './sent'

describe('how a run was sent', () => {
  it('is the same in all languages', () => {
    const zh = readSent('触发类型: 定时\n节点: node-a\n地址列表: 自动 [http://a:9999/]\n剩余重试: 3\n\n结果: 执行器拒绝')
    expect(zh).toEqual(readSent('觸發類型: 定时\n節點: node-a\n位址清單: 自動 [http://a:9999/]\n剩餘重試: 3\n結果: 執行器拒絕'))
    const en = ['trigger type: 定时', 'node: node-a', 'addresses: automatic [http://a:9999/]', 'retries: 3']
    expect(zh).toEqual(readSent([...en, 'result: refused by the executor'].join('\n')))
    expect(zh).toEqual([
      { field: 'trigger', value: '定时' },
      { field: 'node', value: 'node-a' },
      { field: 'addresses', known: 'automatic', value: '[http://a:9999/]' },
      { field: 'retries', value: '3' },
      { field: 'result', known: 'refused', value: '' },
    ])
  })
  it('has the long form, too', () => {
    const text = '路由策略：FIRST\n地址列表：null\n>>>>>>>>>>>执行<<<<<<<<<<<\n参数：a: b\ncode：500\nmsg：no：handler\n\nline: two'
    expect(readSent(text)).toEqual([
      { field: 'route', value: 'FIRST' },
      { field: 'addresses', value: 'null' },
      { value: '>>>>>>>>>>>执行<<<<<<<<<<<' },
      { field: 'parameter', value: 'a: b' },
      { field: 'code', value: '500' },
      { field: 'reason', value: 'no：handler\n\nline: two' },
    ])
  })
  it('keeps what nobody knows', () => {
    expect(readSent('')).toEqual([])
    expect(readSent('任务触发类型：Cron触发\nhttp://a:1/')).toEqual([{ value: '任务触发类型：Cron触发' }, { value: 'http://a:1/' }])
    expect(readSent('toString: x\nconstructor: y')).toEqual([{ value: 'toString: x' }, { value: 'constructor: y' }])
    expect(readSent('结果: 执行器拒绝了')).toEqual([{ field: 'result', value: '执行器拒绝了' }])
  })
  it('knows each title that a node writes', () => {
    const words = readFileSync(new URL('../../../src/job/words.c', import.meta.url), 'utf-8')
    const titles = [
      ...['TRIGGER_TYPE', 'DUE', 'NODE', 'ADMIN_ADDRESS', 'ADDRESS_TYPE', 'ADDRESSES', 'ROUTE', 'BLOCK', 'TIMEOUT'],
      ...['RETRIES', 'ADDRESS', 'HANDLER', 'PARAM', 'RESULT', 'REASON'],
    ]
    for (const title of titles) {
      const [, row = ''] = new RegExp(`\\[WORD_${title}\\] = \\{(.*?)\\}`, 's').exec(words) ?? []
      const texts = [...row.matchAll(/"(.*?)"/g)].map((m) => m[1])
      expect(texts, title).toHaveLength(3)
      for (const text of texts) expect(readSent(`${text}: x`)[0]?.field, text).toBeDefined()
    }
  })
})
