// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { plainMessage } from './plain'

test('messages become lines of text', () => {
  expect(plainMessage('任务触发类型：Cron触发<br>地址：<span style="color:#00c0ef;" > x </span><br/><br><BR><br>end')).toBe(
    '任务触发类型：Cron触发\n地址： x \n\nend',
  )
  expect(plainMessage(null)).toBe('')
})

test('what only looks like a tag stays, and nothing becomes one', () => {
  expect(plainMessage('List<String> a < b')).toBe('List<String> a < b')
  expect(plainMessage('&lt;img src=x&gt; &amp;lt; &quot;&#39;')).toBe('<img src=x> &lt; "\'')
  expect(plainMessage('<script>x</script>')).toBe('<script>x</script>')
})
