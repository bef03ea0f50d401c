local status = obj.status or {}
if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "Waiting for the operator." }
end
-- The message of each condition by type and status, such as holds["Ready=False"].
local holds = {}
for _, condition in ipairs(status.conditions or {}) do
  holds[(condition.type or "") .. "=" .. (condition.status or "")] = condition.message or ""
end
if holds["Stalled=True"] then return { status = "Degraded", message = status.message or holds["Stalled=True"] } end
if holds["Complete=True"] then return { status = "Healthy", message = status.message or holds["Complete=True"] } end
return { status = "Progressing", message = status.message or status.phase }
