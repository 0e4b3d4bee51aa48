import { expect, test } from 'vitest';
import { bedrockClaude } from '../../src/providers/native/bedrock-claude.js';

test('requests to Bedrock are signed where there are AWS credentials, and the secret is not in them', async () => {
  const aws = {
    region: 'eu-central-1',
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI',
    sessionToken: 'session',
  };
  const door = bedrockClaude({
    baseUrl: 'https://bedrock.example',
    apiKey: aws.secretAccessKey,
    aws,
  } as never);
  const signal = new AbortController().signal;
  const { path, headers, body } = await door.request(
    { body: { model: 'anthropic.claude-x:0', messages: [] }, signal },
    true,
  );
  expect(path).toBe('/model/anthropic.claude-x%3A0/invoke-with-response-stream');
  expect(headers!['authorization']).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
  );
  expect(headers).toMatchObject({ 'x-amz-security-token': 'session' });
  expect(headers).not.toHaveProperty('host');
  expect(JSON.stringify([path, headers, body])).not.toContain(aws.secretAccessKey);
});
