local status, spec = obj.status or {}, obj.spec or {}
if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "Waiting for the operator." }
end
-- The message of each condition by type and status, such as holds["Ready=False"].
local holds = {}
for _, condition in ipairs(status.conditions or {}) do
  holds[(condition.type or "") .. "=" .. (condition.status or "")] = condition.message or ""
end
if holds["Stalled=True"] then return { status = "Degraded", message = holds["Stalled=True"] } end
if holds["NamespacesReadable=False"] then return { status = "Degraded", message = holds["NamespacesReadable=False"] } end
local load = (status.queued or 0) .. " waiting, " .. (status.running or 0) .. " running"
if spec.paused then return { status = "Suspended", message = "The queue is paused: " .. load } end
return { status = "Healthy", message = load }
