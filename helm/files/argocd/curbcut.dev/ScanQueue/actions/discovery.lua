local paused = obj.spec.paused == true
return { pause = { disabled = paused }, resume = { disabled = not paused } }
