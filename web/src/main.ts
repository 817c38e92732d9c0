import { mount } from 'svelte';
import App from './App.svelte';
import { startShortcuts } from './lib/keys.svelte';
import { startRouter } from './lib/router.svelte';
import './styles/app.css';

const target = document.getElementById('app');
if (!target) throw new Error('index.html has no element #app');

startRouter();
startShortcuts();
mount(App, { target });
