"""Ways to ask a server for something from a cell that runs in its page: `test_live.py` tries them all and counts.

In each text ``ASK`` stands for an address that only this way asks for, and ``SILENT`` for a port that counts who
connects to it. A table says by its name where its texts run.
"""

# Python in the worker itself, where `js` is its global object.
WORKER = {
    "fetch": "js.fetch('ASK')",
    "fetch-of-prototype": "js.Reflect.get(js.Object.getPrototypeOf(js.self), 'fetch')('ASK')",
    "fetch-deleted": "js.Reflect.deleteProperty(js.self, 'fetch'); js.self.fetch('ASK')",
    "fetch-of-constructor": "js.Function.prototype.call.call(js.WorkerGlobalScope.prototype.fetch, js.self, 'ASK')",
    "xhr": "x = js.XMLHttpRequest.new(); x.open('GET', 'ASK'); x.send()",
    "xhr-synchronous": "x = js.XMLHttpRequest.new(); x.open('GET', 'ASK', False); x.send()",
    "websocket": "js.WebSocket.new('ASK'.replace('http', 'ws'))",
    "websocket-stream": "js.WebSocketStream.new('ASK'.replace('http', 'ws'))",
    "event-source": "js.EventSource.new('ASK')",
    "import-scripts": "js.importScripts('ASK')",
    "import-scripts-of-prototype": "js.Object.getPrototypeOf(js.self).importScripts('ASK')",
    "font-face": "js.FontFace.new('f', 'url(ASK)').load()",
    "cache-add": "js.caches.open('c').then(lambda cache: cache.add('ASK'))",
    "worker-by-address": "js.Worker.new('ASK')",
    "module-worker-by-address": "js.Worker.new('ASK', js.JSON.parse('{\"type\": \"module\"}'))",
    "service-worker": "js.navigator.serviceWorker.register('ASK')",
    "beacon": "js.navigator.sendBeacon('ASK')",
    "javascript": "import pyodide.code; pyodide.code.run_js('import(\"ASK\")')",
    "requests": "import urllib.request; urllib.request.urlopen('ASK')",
    "open-url": "from pyodide.http import open_url; open_url('ASK')",
    "pyfetch": "import asyncio; from pyodide.http import pyfetch; asyncio.ensure_future(pyfetch('ASK'))",
}  # fmt: skip

# JavaScript in a worker that the worker made of a text: once a classic one, once one of modules.
NESTED = {
    "fetch": "fetch('ASK')",
    "import": "import('ASK')",
    "import-of-data": "import('data:text/javascript,import(\"ASK\")')",
    "import-of-blob": "import(URL.createObjectURL(new Blob(['import(\"ASK\")'], {type: 'text/javascript'})))",
    "xhr": "const x = new XMLHttpRequest(); x.open('GET', 'ASK'); x.send()",
    "websocket": "new WebSocket('ASK'.replace('http', 'ws'))",
    "event-source": "new EventSource('ASK')",
    "import-scripts": "importScripts('ASK')",
    "font-face": "new FontFace('f', 'url(ASK)').load()",
    "cache-add": "caches.open('c').then((cache) => cache.add('ASK'))",
    "worker": "new Worker('ASK')",
    "deeper": "new Worker(URL.createObjectURL(new Blob(['fetch(\"ASK\")'])))",
}  # fmt: skip

# HTML that a cell returns. Where a reader could click, the test clicks.
HTML = {
    "img": "<img src='ASK'>",
    "img-srcset": "<img srcset='ASK 2x, ASK 1x'>",
    "picture": "<picture><source srcset='ASK'><img></picture>",
    "img-attribution": "<img src='data:,' attributionsrc='ASK'>",
    "script-of-onerror": "<img src='data:,' onerror=\"RAN; new Image().src = 'ASK'\">",
    "script-of-onload": "<svg onload=\"RAN; fetch('ASK')\"></svg>",
    "script-of-toggle": "<details open ontoggle=\"RAN; fetch('ASK')\"><summary>x</summary>y</details>",
    "script-of-focus": "<input autofocus onfocus=\"RAN; fetch('ASK')\">",
    "script-of-animation": "<style>@keyframes k {}</style>"
    "<p style='animation: k 1s' onanimationstart=\"RAN; fetch('ASK')\">x</p>",
    "script-of-click": "<button onclick=\"RAN; fetch('ASK')\">x</button>",
    "script-of-link": "<a href=\"javascript:RAN; fetch('ASK')\">x</a>",
    "script": "<script>RAN; fetch('ASK')</script>",
    "script-of-svg": "<svg><script>RAN; fetch('ASK')</script></svg>",
    "script-of-srcdoc": "<iframe srcdoc=\"<script>top.gqRan = 1; fetch('ASK')</script>\"></iframe>",
    "script-of-mutation": "<math><mtext><table><mglyph><style><!--</style>"
    "<img title=\"--&gt;&lt;img src=1 onerror=RAN;fetch('ASK')&gt;\">",
    "svg-image": "<svg><image href='ASK' width='9' height='9'/></svg>",
    "svg-image-xlink": "<svg><image xlink:href='ASK' width='9' height='9'/></svg>",
    "svg-use": "<svg><use href='ASK#x'/></svg>",
    "svg-fe-image": "<svg><filter id='f'><feImage href='ASK'/></filter><rect width='9' height='9' filter='url(#f)'/></svg>",
    "svg-fill": "<svg><rect width='9' height='9' fill='url(ASK#x)'/></svg>",
    "svg-filter": "<svg><rect width='9' height='9' filter='url(ASK#x)'/></svg>",
    "svg-foreign": "<svg width='9' height='9'><foreignObject width='9' height='9'><img src='ASK'/></foreignObject></svg>",
    "svg-animated": "<svg><image width='9' height='9'><set attributeName='href' to='ASK'/></image></svg>",
    "style-background": "<p style=\"background: url('ASK')\">x</p>",
    "style-image-set": "<p style=\"background: image-set('ASK' 1x)\">x</p>",
    "style-list": "<li style=\"list-style: url('ASK')\">x</li>",
    "style-content": "<style>p.c::before { content: url('ASK') }</style><p class='c'>x</p>",
    "style-cursor": "<p style=\"cursor: url('ASK'), auto\">x</p>",
    "style-mask": "<p style=\"mask: url('ASK#m'); -webkit-mask-image: url('ASK')\">x</p>",
    "style-border": "<p style=\"border: 3px solid; border-image: url('ASK') 3\">x</p>",
    "style-shape": "<p style=\"float: left; shape-outside: url('ASK')\">x</p>",
    "style-font": "<style>@font-face { font-family: f; src: url('ASK') } p.f { font-family: f }</style><p class='f'>x</p>",
    "style-import": "<style>@import 'ASK';</style>",
    "style-import-of-data": "<link rel='stylesheet' href='data:text/css,@import \"ASK\";'>",
    "link-stylesheet": "<link rel='stylesheet' href='ASK'>",
    "link-icon": "<link rel='icon' href='ASK'>",
    "link-manifest": "<link rel='manifest' href='ASK'>",
    "link-preload": "<link rel='preload' as='image' href='ASK'>",
    "link-modulepreload": "<link rel='modulepreload' href='ASK'>",
    "link-prefetch": "<link rel='prefetch' href='ASK'>",
    "link-preconnect": "<link rel='preconnect' href='http://127.0.0.1:SILENT'>",
    "link-in-svg": "<svg><foreignObject><link rel='stylesheet' href='ASK'/></foreignObject></svg>",
    "speculation": "<script type='speculationrules'>{\"prefetch\": [{\"urls\": [\"ASK\"]}]}</script>",
    "iframe": "<iframe src='ASK'></iframe>",
    "iframe-of-data": "<iframe src=\"data:text/html,<img src='ASK'>\"></iframe>",
    "frame-of-mathml": "<math><annotation-xml encoding='text/html'><iframe src='ASK'></iframe></annotation-xml></math>",
    "object": "<object data='ASK'></object>",
    "embed": "<embed src='ASK'>",
    "video": "<video src='ASK' autoplay></video>",
    "video-poster": "<video poster='ASK'></video>",
    "audio": "<audio src='ASK' preload='auto'></audio>",
    "source": "<video autoplay><source src='ASK'></video>",
    "track": "<video src='data:video/mp4,' autoplay><track default src='ASK'></video>",
    "input-image": "<input type='image' src='ASK'>",
    "table-background": "<table background='ASK'><tr><td background='ASK'>x</td></tr></table>",
    "shadow": "<div><template shadowrootmode='open'><img src='ASK'></template></div>",
    "link-blank": "<a href='ASK' target='_blank'>x</a>",
    "form-blank": "<form action='ASK' target='_blank'><button>x</button></form>",
    "form-post": "<form action='ASK' method='post' target='_blank'><input type='submit'></form>",
}  # fmt: skip

# The same, of what would take the page away: each is tried by itself, after the others.
LEAVING_HTML = {
    "link-download": "<a href='ASK' download>x</a>",
    "base": "<base href='ASK/'><img src='x'>",
    "link-ping": "<a href='#' ping='ASK'>x</a>",
    "link": "<a href='ASK'>x</a>",
    "link-top": "<a href='ASK' target='_top'>x</a>",
    "link-of-svg": "<svg><a href='ASK'><text y='9'>x</text></a></svg>",
    "link-of-svg-xlink": "<svg><a xlink:href='ASK'><text y='9'>x</text></a></svg>",
    "link-of-svg-set": "<svg><a><set attributeName='href' to='ASK'/><text y='9'>x</text></a></svg>",
    "link-of-mathml": "<math><mtext href='ASK'>x</mtext></math>",
    "area": "<map name='m'><area href='ASK' shape='rect' coords='0,0,9,9'></map><img usemap='#m' src='data:,'>",
    "form": "<form action='ASK'><button>x</button></form>",
    "form-button": "<form><button formaction='ASK'>x</button></form>",
    "refresh": "<meta http-equiv='refresh' content='0; url=ASK'>",
}  # fmt: skip

# LaTeX that a cell returns; the test clicks.
LATEX = {
    "style": r"\style{background: url(ASK)}{x}",
    "token-style": r"\mmlToken{mi}[style='background: url(ASK)']{x}",
    "box": r"\bbox[background: url(ASK)]{x}",
    "require": r"\require{ASK}x",
}  # fmt: skip
LEAVING_LATEX = {
    "link": r"\href{ASK}{x}",
    "token-link": r"\mmlToken{mi}[href='ASK']{x}",
    "link-by-another-name": r"\let\other=\href \other{ASK}{x}",
}  # fmt: skip
