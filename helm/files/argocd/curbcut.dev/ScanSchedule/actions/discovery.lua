local suspended = obj.spec.suspend == true
return { run = { disabled = false }, suspend = { disabled = suspended }, resume = { disabled = not suspended } }
