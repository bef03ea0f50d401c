local status = obj.status or {}
if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "Waiting for the operator." }
end
-- The message of each condition by type and status, such as holds["Ready=False"].
local holds = {}
for _, condition in ipairs(status.conditions or {}) do
  holds[(condition.type or "") .. "=" .. (condition.status or "")] = condition.message or ""
end
if holds["Stalled=True"] then return { status = "Degraded", message = holds["Stalled=True"] } end
if holds["Reconciling=True"] then return { status = "Progressing", message = holds["Reconciling=True"] } end
-- Not in effect, or not all of the status is written yet.
if not holds["Ready=True"] then
  return { status = "Progressing", message = holds["Ready=False"] or holds["Ready=Unknown"] or "Waiting for the operator." }
end
return { status = "Healthy", message = holds["Ending=True"] or holds["Ready=True"] }
