// The service worker of notifications: it shows what the server pushes to this browser,
// also while no page of the dashboard is open. It caches nothing.

self.addEventListener('push', (event) => {
  const { id, title, body, actions } = event.data.json();
  const options = { body, tag: id, icon: '/favicon.svg', data: { url: actions[0]?.url ?? '/notifications' } };
  event.waitUntil(self.registration.showNotification(title, options));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(self.clients.openWindow(event.notification.data.url));
});
