// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { addressesOf, changesOf, findMistakes, formOf, newGroupOf, rebaseForm, type Group } from './group'

const byHand: Group = {
  id: 3,
  appname: 'by-hand',
  title: 'By hand',
  addressType: 'manual',
  addressList: ['http://a:1/', 'http://b:1/'],
  hasAccessToken: true,
  updateTime: null,
}

test('addresses are read line by line, each once', () => {
  expect(addressesOf(' http://a:1/ \n\nhttp://b:1/,http://a:1/，http://c:1/')).toEqual([
    'http://a:1/',
    'http://b:1/',
    'http://c:1/',
  ])
})

test('only what differs is sent', () => {
  const form = formOf(byHand)
  expect(changesOf(form, byHand)).toEqual({})
  expect(changesOf({ ...form, title: ' New ', addresses: 'http://a:1/' }, byHand)).toEqual({
    title: 'New',
    addressList: ['http://a:1/'],
  })
})

test('a group that becomes automatic has no addresses of its own; one by hand needs them', () => {
  expect(changesOf({ ...formOf(byHand), addressType: 'auto' }, byHand)).toEqual({ addressType: 'auto' })
  const auto: Group = { ...byHand, addressType: 'auto' }
  const form = { ...formOf(auto), addressType: 'manual' as const }
  expect(findMistakes(form)).toEqual(['noAddress'])
  expect(changesOf({ ...form, addresses: 'http://a:1/\nhttp://b:1/' }, auto)).toEqual({
    addressType: 'manual',
    addressList: ['http://a:1/', 'http://b:1/'],
  })
})

test('the token is kept, replaced or taken away', () => {
  const form = formOf(byHand)
  expect(changesOf({ ...form, token: 'set', accessToken: 's' }, byHand)).toEqual({ accessToken: 's' })
  expect(changesOf({ ...form, token: 'none' }, byHand)).toEqual({ accessToken: null })
  expect(findMistakes({ ...form, token: 'set' })).toEqual(['token'])
  expect(newGroupOf({ ...formOf(null), appname: 'made', title: 'Made' })).toEqual({
    appname: 'made',
    title: 'Made',
    addressType: 'auto',
  })
})

test('what was edited outlives a change by somebody else', () => {
  const mine = { ...formOf(byHand), title: 'Mine', token: 'set' as const, accessToken: 's' }
  const theirs: Group = { ...byHand, title: 'Theirs', addressList: ['http://c:1/'] }
  const form = rebaseForm(mine, byHand, theirs)
  expect([form.title, form.addresses, form.accessToken]).toEqual(['Mine', 'http://c:1/', 's'])
  expect(changesOf(form, theirs)).toEqual({ title: 'Mine', accessToken: 's' })
  expect(rebaseForm(formOf(byHand), byHand, theirs)).toEqual(formOf(theirs))
})

test('mistakes are found before the server is asked', () => {
  expect(findMistakes({ ...formOf(byHand), appname: 'abc', title: ' ', addresses: '10.0.0.1:9999' })).toEqual([
    'appname',
    'title',
    'address',
  ])
})
