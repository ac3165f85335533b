# Fetches the workspace agent and runs it.
$ErrorActionPreference = "Stop"
$ProgressPreference = "SilentlyContinue"

$agentUrl = '${ACCESS_URL}'
$env:CODER_AGENT_URL = $agentUrl
$env:CODER_AGENT_AUTH = '${AUTH_TYPE}'
$binaryUrl = $agentUrl.TrimEnd('/') + '/bin/coder-@OS@-@ARCH@.exe?for=agent'

if ($env:CODER_AGENT_AUTH -eq 'token' -and -not $env:CODER_AGENT_TOKEN) {
	Write-Error 'coder init: CODER_AGENT_TOKEN is not set; the template must pass coder_agent.<name>.token to the machine'
	exit 1
}

[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
$dir = Join-Path ([IO.Path]::GetTempPath()) ('coder.' + [Guid]::NewGuid().ToString('N'))
New-Item -ItemType Directory -Path $dir | Out-Null
$binary = Join-Path $dir 'coder.exe'

$pause = 1
while ($true) {
	try {
		Invoke-WebRequest -Uri $binaryUrl -OutFile $binary -UseBasicParsing
		& $binary version | Out-Null
		if ($LASTEXITCODE -eq 0) { break }
		throw "the downloaded agent does not run (exit status $LASTEXITCODE)"
	} catch {
		Write-Host "coder init: could not get a working agent from ${binaryUrl}: $_; trying again in $pause s"
		Start-Sleep -Seconds $pause
		$pause = [Math]::Min($pause * 2, 30)
	}
}

& $binary agent
exit $LASTEXITCODE
