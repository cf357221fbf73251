// SPDX-License-Identifier: MIT
/**
 * useJobEditor: opens the drawer that edits a job, from any page. The frame holds it; its code comes when it is first
 * opened.
 *
 *   const { openEditor } = useJobEditor()
 *   const id = await openEditor({ id: 12 })            what was saved; undefined: nothing was
 *   await openEditor({ copyOf: 12 })
 *   await openEditor({ group: 3 })                     a new job, in that group
 */
import { shallowRef } from 'vue'

export type EditorTarget = { id: number } | { copyOf: number } | { group?: number }

export interface EditorCall {
  target: EditorTarget
  done: (saved: number | undefined) => void
}

const call = shallowRef<EditorCall>()

function openEditor(target: EditorTarget): Promise<number | undefined> {
  if (call.value) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    call.value = {
      target,
      done: (saved) => {
        call.value = undefined
        resolve(saved)
      },
    }
  })
}

export function useJobEditor() {
  return { openEditor, call }
}
