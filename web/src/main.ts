// SPDX-License-Identifier: MIT
import { VueQueryPlugin } from '@tanstack/vue-query'
import { createApp } from 'vue'
import App from './App.vue'
import { queryClient } from './api/query'
import { i18n, startLanguage } from './i18n'
import { router } from './router'
import { reloadForNewerBuild } from './router/newer'
import { startTheme } from './theme/theme'
import 'element-plus/theme-chalk/base.css'
import './theme/tokens.css'
import './theme/element.css'
import './theme/base.css'

startTheme()
await startLanguage()
reloadForNewerBuild(router)
createApp(App).use(i18n).use(VueQueryPlugin, { queryClient }).use(router).mount('#app')
