local os = require("os")
obj.metadata.annotations = obj.metadata.annotations or {}
obj.metadata.annotations["curbcut.dev/run"] = os.date("!%Y-%m-%dT%H:%M:%SZ")
return obj
