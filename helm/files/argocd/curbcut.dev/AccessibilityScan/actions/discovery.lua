local ended = false
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == "Complete" and condition.status == "True" then ended = true end
end
return { cancel = { disabled = ended } }
