// SPDX-License-Identifier: MIT
import { afterAll, expect, test } from 'vitest'
import { closeBrowser, doTask } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

test('log in', () =>
  doTask('log in', {}, async (p) => {
    await p.go('/')
    await p.page.locator('input[name=username]').fill('admin')
    await p.page.locator('input[name=password]').fill('not it')
    await p.click(p.get('login'))
    await p.see(p.w('login.wrong'))
    p.clicks = 0
    await p.page.locator('input[name=password]').fill(stage.password)
    await p.click(p.get('login'))
    await p.see(p.get('rail-jobs'))
    expect(new URL(p.page.url()).pathname).toMatch(/\/$/)
  }))

test('a link to a page leads there behind the login, and nowhere else', () =>
  doTask('link behind the login', {}, async (p) => {
    for (const [to, path] of [
      ['/runs', '/runs'],
      ['/login?to=//evil.example/', '/'],
    ] as const) {
      await p.context.clearCookies()
      await p.go(to)
      await p.page.locator('input[name=username]').fill('admin')
      await p.page.locator('input[name=password]').fill(stage.password)
      await p.click(p.get('login'))
      await p.see(p.get('rail-jobs'))
      expect(new URL(p.page.url()).pathname.replace('/xxl-job-admin', '')).toBe(path)
    }
  }))

test('switch language and theme', () =>
  doTask('switch language and theme', { user: 'admin' }, async (p) => {
    await p.go('/jobs')
    const other = p.language === 'en' ? 'zh-CN' : 'en'
    await p.click(p.get('language'))
    await p.click(p.get(`language-${other}`))
    await expect.poll(() => p.page.locator('html').getAttribute('lang')).toBe(other)
    await p.click(p.get('theme'))
    await p.click(p.get('theme-dark'))
    await expect.poll(() => p.page.locator('html').getAttribute('data-theme')).toBe('dark')
    await p.page.reload()
    await p.see(p.get('rail-jobs'))
    expect(await p.page.locator('html').getAttribute('lang')).toBe(other)
    expect(await p.page.locator('html').getAttribute('data-theme')).toBe('dark')
  }))
