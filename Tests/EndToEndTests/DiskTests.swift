import Crypto
import Foundation
import PrivateCluster
import StrictCoding
import SystemTesting
import Testing

/// Whoever steals the disk of the database, a copy of its WAL, or its logs, finds no secret there: neither what is there now nor what
/// was. The server is made to log every statement with its parameters, so that what is sent to it is there as well.
@Suite(.timeLimit(.minutes(5))) struct DiskTests {
    @Test func noSecretIsOnTheDatabasesDisk() async throws {
        let stage = try await DiskStage()
        var secrets = SecretSearch()
        // 256 random bits, of which a SHA-256 is kept on purpose.
        secrets.add(stage.secret, "the client's secret")
        secrets.add(stage.providerSecret, "the broker's secret at the identity provider")
        try addKeys(of: stage, to: &secrets)
        var run = DiskRun(stage, secrets: secrets)
        for app in DiskStage.App.allCases {
            for profile in DiskStage.profiles {
                try await run.exchanges(by: app, profile)
                try await run.enrolments(by: app, profile)
                try await run.codes(by: app, profile)
            }
            try await run.codes(by: app, nil)
        }
        try await run.exchanges(by: .plain, .transitional)
        try await run.misplacedSecrets()
        try await run.refusedAuthentication()
        try await run.logouts()
        // It writes what it still has to.
        #expect(await stage.running.process.terminate() == 0)
        for refusal in run.refusals {
            let reasons = try await stage.sql.rows(
                "SELECT reason FROM native_sso.audit_event WHERE request_id = '\(refusal.requestID)'")
            // What it revoked is on record as well.
            #expect(Set(reasons) == [refusal.reason])
        }
        let control = try await Control(stage)
        try await stage.sql.rows("CHECKPOINT")

        let directory = URL(filePath: stage.cluster.directory)
        try control.check(in: directory)
        // The database is told what scope is asked for, to compare it, and keeps none that the app may not have.
        let findings = try run.secrets.findings(inFilesUnder: directory).filter {
            !($0.form.hasPrefix("a secret as scope") && $0.file == "log")
        }
        #expect(
            Set(findings.map(\.form)) == [
                "SHA-256 of the client's secret", "SHA-256 of the client's secret, hexadecimal",
            ], "\(findings)")
    }

    /// Those of the broker, none of which the database is told.
    private func addKeys(of stage: DiskStage, to secrets: inout SecretSearch) throws {
        let directory = stage.installation.directory.appending(path: "keys")
        let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        #expect(files.count >= 3)
        for file in files {
            let (octets, name) = (Array(try Data(contentsOf: file)), "the key \(file.lastPathComponent)")
            secrets.add(octets: octets, name)
            guard octets.starts(with: Array("-----".utf8)) else { continue }
            let key = try P256.Signing.PrivateKey(pemRepresentation: String(decoding: octets, as: UTF8.self))
            secrets.add(octets: Array(key.rawRepresentation), name)
            secrets.add(octets: Array(key.derRepresentation), name)
        }
    }
}

/// What the search must find, or it would prove nothing: what is stored on purpose, and a secret in every form that it knows, written
/// by the database's own functions.
private struct Control {
    private var stored = SecretSearch()
    private var forms = SecretSearch()
    private let secret = Unguessable.make()
    private let punctuated = Unguessable.make() + "+/="

    init(_ stage: DiskStage) async throws {
        // More than one of each: in WAL a page's head may lie in the middle of it.
        for sid in try await stage.sql.rows("SELECT sid FROM native_sso.session ORDER BY created_at LIMIT 8") {
            stored.add(sid, "a sid")
        }
        let answers = try await stage.sql.rows(
            "SELECT encode(substr(answer, 1, 60), 'hex') FROM native_sso.relayed_code WHERE state = 'answered' LIMIT 8")
        for answer in answers { stored.add(octets: try #require(Hexadecimal.decode(answer)), "a sealed answer") }
        forms.add(secret, "control")
        forms.add(punctuated, "punctuated")
        try await stage.sql.rows("CREATE TABLE public.control (text text, octets bytea)")
        for _ in 0..<8 {
            try await stage.sql.rows(
                """
                WITH v AS (SELECT '\(secret)'::text AS t, '\(secret)'::bytea AS b),
                    base64 AS (SELECT translate(encode(prefix::bytea || b || 'behind'::bytea, 'base64'), E'+/=\\n', '-_') AS t
                        FROM v, (VALUES (''), ('1'), ('12')) AS p (prefix))
                INSERT INTO public.control
                SELECT t, NULL::bytea FROM v UNION ALL SELECT t, NULL FROM base64
                UNION ALL SELECT encode(b, 'hex'), NULL FROM v UNION ALL SELECT upper(encode(b, 'hex')), NULL FROM v
                UNION ALL SELECT regexp_replace(upper(encode(b, 'hex')), '(..)', '%\\1', 'g'), NULL FROM v
                UNION ALL SELECT encode(sha256(b), 'hex'), NULL FROM v
                UNION ALL SELECT NULL, sha256(b) FROM v
                UNION ALL SELECT NULL, decode(translate(t, '-_', '+/') || '=', 'base64') FROM v
                UNION ALL SELECT replace(replace(replace('\(punctuated)', '+', '%2B'), '/', '%2F'), '=', '%3D'), NULL
                UNION ALL SELECT translate(encode('\(punctuated)'::bytea, 'base64'), E'=\\n', ''), NULL
                """)
        }
    }

    func check(in directory: URL) throws {
        let heap = "data/base/"
        let journal = "data/pg_wal/"
        let stored = try stored.findings(inFilesUnder: directory)
        let forms = try forms.findings(inFilesUnder: directory)
        for place in [heap, journal] {
            for form in ["a sid", "a sealed answer"] {
                #expect(stored.contains { $0.form == form && $0.file.hasPrefix(place) }, "\(form) in \(place)")
            }
            for form in [
                "control", "control, base64url", "control, hexadecimal", "control, URL-encoded", "SHA-256 of control",
                "SHA-256 of control, hexadecimal", "control, decoded", "punctuated, URL-encoded",
            ] {
                #expect(forms.contains { $0.form == form && $0.file.hasPrefix(place) }, "\(form) in \(place)")
            }
        }
        // The server did log what it was told.
        #expect(forms.contains { $0.form == "control" && $0.file == "log" })
    }
}
