// SPDX-License-Identifier: MIT
import { createHmac } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { findViolations } from '../look'
import { closeBrowser, doTask } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

/** RFC 6238, of so many steps from now. Those of 0 and 1 are good for a step more, however slow the browser is. */
function codeOf(secret: string, steps: number): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret].map((c) => letters.indexOf(c).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g)!.map((byte) => parseInt(byte, 2)))
  const message = Buffer.alloc(8)
  message.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps))
  const mac = createHmac('sha1', key).update(message).digest()
  const number = mac.readUInt32BE(mac[19]! & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

test('set up a second factor, log in with it, remove it', async () => {
  let secret = ''
  let codes: string[] = []
  await doTask('set up a second factor', { user: 'runner' }, async (p) => {
    await p.go('/account')
    await p.click(p.get('factor-set'))
    await p.get('factor-password').fill(stage.users.runner!)
    await p.click(p.get('factor-send'))
    await p.see(p.page.locator('[data-test=qr] path'))
    secret = (await p.get('factor-secret').locator('pre').textContent())!.trim()
    expect(await findViolations(p)).toEqual([])
    await p.get('factor-code').fill('000000')
    await p.click(p.get('factor-send'))
    await p.see(p.w('login.factor.wrong'))
    await p.get('factor-code').fill(codeOf(secret, 0))
    await p.click(p.get('factor-send'))
    codes = (await p.get('recovery-codes').locator('pre').textContent())!.trim().split('\n')
    expect(codes).toHaveLength(10)
    expect(await findViolations(p)).toEqual([])
    await p.click(p.get('codes-stored'))
    await p.see(p.get('factor-remove'))
  })
  await doTask('log in with a second factor', {}, async (p) => {
    await p.go('/')
    await p.page.locator('input[name=username]').fill('runner')
    await p.page.locator('input[name=password]').fill(stage.users.runner!)
    await p.click(p.get('login'))
    await p.page.locator('input[name=code]').fill('000000')
    expect(await findViolations(p)).toEqual([])
    await p.click(p.get('login'))
    await p.see(p.w('login.factor.wrong'))
    await p.page.locator('input[name=code]').fill(codeOf(secret, 1))
    await p.click(p.get('login'))
    await p.see(p.get('rail-jobs'))
    await p.go('/account')
    await p.click(p.get('factor-remove'))
    await p.get('factor-password').fill(stage.users.runner!)
    await p.get('factor-code').fill(codes[0]!)
    await p.click(p.get('factor-send'))
    await expect.poll(() => p.get('factor-remove').count()).toBe(0)
  })
})
