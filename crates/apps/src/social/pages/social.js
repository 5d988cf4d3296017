// The behaviour of all pages. What users typed is only ever put into text nodes, and into links
// after their protocol was checked.
'use strict';

const PAGE = 10;
const parameters = new URLSearchParams(location.search);
const find = (selector) => document.querySelector(selector);

// The name comes from the address after a login; it only says whose follows a form changes.
const username = parameters.get('username') ?? localStorage.getItem('username') ?? '';
if (document.body.dataset.page === 'main' && parameters.has('username')) {
  localStorage.setItem('username', username);
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function complain(why) {
  find('[role="alert"]').textContent = why;
}

// Asks the application; leads to the login if there is no session.
async function ask(target, options) {
  const answer = await fetch(target, { cache: 'no-store', ...options });
  if (answer.status === 401) location.assign('index.html');
  if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
  return answer;
}

async function list(target) {
  const items = await (await ask(target)).json();
  return Array.isArray(items) ? items : []; // an empty list is {}
}

for (const form of document.querySelectorAll('form')) {
  const known = form.querySelector('[name="user_name"]');
  if (known) known.value = username;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const button = form.querySelector('button');
    button.disabled = true;
    complain('');
    try {
      const body = new URLSearchParams(new FormData(form));
      const answer = await ask(form.action, { method: 'POST', body });
      // Where a form leads to is in the answer, and for a new post in the page.
      location.assign(answer.redirected ? answer.url : form.dataset.next);
    } catch (error) {
      complain(error.message);
      button.disabled = false;
    }
  });
}

// The address of a link if it is one of the web, and null otherwise.
function web(address) {
  try {
    const url = new URL(address);
    return ['http:', 'https:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function profile(name, id) {
  return `profile.html?${new URLSearchParams({ user_id: id, name })}`;
}

// The text of a post with its mentions and links.
function paragraph(post) {
  const items = (some) => (Array.isArray(some) ? some : []);
  const urls = new Map(items(post.urls).map((url) => [url.shortened_url, url.expanded_url]));
  const users = new Map(items(post.user_mentions).map((user) => [`@${user.username}`, user]));
  const made = document.createElement('p');
  for (const part of post.text.split(/(@[a-zA-Z0-9_-]+|https?:\/\/[^\s]+)/)) {
    const user = users.get(part);
    const address = urls.has(part) ? web(urls.get(part)) : null;
    if (user) made.append(element('a', part, { href: profile(user.username, user.user_id) }));
    else if (address) made.append(element('a', urls.get(part), { href: address, rel: 'noopener noreferrer nofollow' }));
    else made.append(part);
  }
  const media = items(post.media).length;
  if (media) made.append(element('span', `\n${media} attached`, { class: 'hint' }));
  return made;
}

function article(post) {
  const made = document.createElement('article');
  const header = document.createElement('header');
  const { username: name, user_id: id } = post.creator;
  const at = new Date(Number(post.timestamp));
  header.append(element('a', name, { href: profile(name, id) }));
  header.append(element('time', at.toLocaleString(), { datetime: at.toISOString() }));
  made.append(header, paragraph(post));
  return made;
}

async function timeline(target) {
  const start = Math.max(0, Number.parseInt(parameters.get('start') ?? '0', 10) || 0);
  const posts = await list(`${target}start=${start}&stop=${start + PAGE}`);
  const there = find('#posts');
  there.replaceChildren(...posts.map(article));
  if (posts.length === 0) there.append(element('p', start ? 'No older posts.' : 'No posts yet.'));
  const link = (text, from) => {
    const to = new URLSearchParams(location.search);
    to.set('start', from);
    return element('a', text, { href: `?${to}` });
  };
  const pages = find('.pages');
  pages.replaceChildren();
  if (start > 0) pages.append(link('Newer posts', Math.max(0, start - PAGE)));
  if (posts.length === PAGE) pages.append(link('Older posts', start + PAGE));
}

async function contacts() {
  for (const [id, target, field] of [
    ['#followees', '/api/user/get_followee', 'followee_id'],
    ['#followers', '/api/user/get_follower', 'follower_id'],
  ]) {
    const users = await list(target);
    const items = users.map((user) => {
      const item = document.createElement('li');
      const number = user[field];
      item.append(element('a', `User ${number}`, { href: profile(`User ${number}`, number) }));
      return item;
    });
    find(id).replaceChildren(...(items.length ? items : [element('li', 'Nobody yet.')]));
  }
}

const pages = {
  main: () => timeline('/api/home-timeline/read?'),
  profile: () => {
    const id = parameters.get('user_id');
    if (id === null) return timeline('/api/user-timeline/read?');
    find('h1').textContent = `Posts of ${parameters.get('name') ?? `user ${id}`}`;
    return timeline(`/wrk2-api/user-timeline/read?${new URLSearchParams({ user_id: id })}&`);
  },
  contact: contacts,
};
pages[document.body.dataset.page]?.().catch((error) => complain(error.message));
