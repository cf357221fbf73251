// SPDX-License-Identifier: MIT
import { describe, expect, it } from 'vitest'
import { changesOf, findMistakes, formOf, groupsOf, type User } from './users'

const ann: User = { id: 2, username: 'ann', role: 'user', groups: [1, 3], source: null, secondFactor: false }

describe('groups of a user', () => {
  it('are all for an administrator, and for a reader who has all', () => {
    expect(groupsOf({ ...formOf(ann), role: 'admin' })).toBeNull()
    expect(groupsOf({ ...formOf(ann), role: 'reader', allGroups: true })).toBeNull()
  })
  it('are a list for a user, whatever was chosen before', () => {
    expect(groupsOf({ ...formOf(ann), allGroups: true, groups: [3, 1] })).toEqual([1, 3])
    expect(groupsOf(formOf(null))).toEqual([])
  })
})

describe('changes', () => {
  it('are what differs', () => {
    expect(changesOf(formOf(ann), ann)).toEqual({})
    expect(changesOf({ ...formOf(ann), password: 'hunter' }, ann)).toEqual({ password: 'hunter' })
    expect(changesOf({ ...formOf(ann), groups: [3] }, ann)).toEqual({ groups: [3] })
  })
  it('send the groups along with another role', () => {
    expect(changesOf({ ...formOf(ann), role: 'admin' }, ann)).toEqual({ role: 'admin', groups: null })
    expect(changesOf({ ...formOf(ann), role: 'reader' }, ann)).toEqual({ role: 'reader', groups: [1, 3] })
  })
})

describe('mistakes', () => {
  it('of a new user: no name, a password that is too short or too long', () => {
    expect(findMistakes(formOf(null), true, 4, 20)).toEqual(['name', 'password'])
    const form = { ...formOf(null), username: 'bo' }
    expect(findMistakes({ ...form, password: ' abc ' }, true, 4, 20)).toEqual(['password'])
    expect(findMistakes({ ...form, password: 'x'.repeat(21) }, true, 4, 20)).toEqual(['password'])
    expect(findMistakes({ ...form, password: '一二三四' }, true, 4, 20)).toEqual([])
  })
  it('of strong passwords: other bounds', () => {
    const form = { ...formOf(null), username: 'bo' }
    expect(findMistakes({ ...form, password: 'x'.repeat(7) }, true, 8, 128)).toEqual(['password'])
    expect(findMistakes({ ...form, password: 'x'.repeat(128) }, true, 8, 128)).toEqual([])
    expect(findMistakes({ ...form, password: 'x'.repeat(129) }, true, 8, 128)).toEqual(['password'])
  })
  it('of one that is there: the password may stay', () => {
    expect(findMistakes(formOf(ann), false, 4, 20)).toEqual([])
    expect(findMistakes({ ...formOf(ann), password: 'abc' }, false, 4, 20)).toEqual(['password'])
  })
})
