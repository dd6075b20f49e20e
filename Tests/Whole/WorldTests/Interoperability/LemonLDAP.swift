import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding

/// LemonLDAP::NG's portal under plackup, with its demonstration users, files for sessions, and nothing else.
final class LemonLDAP: ForeignProvider {
    static let paths = (authorization: "/oauth2/authorize", token: "/oauth2/token", logout: "/oauth2/logout")
    static let user = (name: "dwho", password: "dwho")

    let port: UInt16
    private let process: ManagedProcess

    /// With the slash that its documentation has, too.
    var issuer: String { "http://127.0.0.1:\(port)/" }

    init() async throws {
        let software = Software.lemonldap
        port = try LoopbackPort.free()
        let directory = URL(filePath: try WorkingDirectory(named: "lemonldap").path)
        for name in ["conf", "sessions", "persistent", "lock", "cache"] {
            try FileManager.default.createDirectory(
                at: directory.appending(path: name), withIntermediateDirectories: true)
        }
        let settings = """
            [all]
            logLevel = warn
            [configuration]
            type = File
            dirName = \(directory.path)/conf
            localStorage = Cache::FileCache
            localStorageOptions = { 'namespace' => 'conf', 'cache_root' => '\(directory.path)/cache' }
            [portal]
            staticPrefix = /static
            templateDir = \(try software.path("usr/share/lemonldap-ng/portal/templates"))
            languages = en

            """
        try Data(settings.utf8).write(to: directory.appending(path: "lemonldap-ng.ini"))
        try Data(try await Self.configuration(port, directory.path).utf8)
            .write(to: directory.appending(path: "conf/lmConf-1.json"))
        let libraries = try software.libraries()
        let modules = try libraries.split(separator: ":").map { "\($0)/perl5" }
            .filter { FileManager.default.fileExists(atPath: $0) }.flatMap { folder in
                try FileManager.default.contentsOfDirectory(atPath: folder).map { "\(folder)/\($0)" }
            }
        process = try ManagedProcess(
            "/usr/bin/perl",
            [
                try software.path("usr/bin/plackup"), "--host", "127.0.0.1", "--port", "\(port)", "-E",
                "deployment", "-e", "use Lemonldap::NG::Portal; Lemonldap::NG::Portal->run({})",
            ], name: "LemonLDAP::NG",
            environment: [
                "PERL5LIB": ([try software.path("usr/share/perl5")] + modules).joined(separator: ":"),
                "LD_LIBRARY_PATH": libraries,
                "LLNG_DEFAULTCONFFILE": directory.appending(path: "lemonldap-ng.ini").path,
            ], log: directory.appending(path: "log"))
        try await untilReady(process)
    }

    deinit { process.kill() }

    func logIn(_ browser: UserAgent, from page: UserAgent.Page) async throws -> UserAgent.Outcome {
        let outcome = try await browser.submit(
            page, ["user": Self.user.name, "password": Self.user.password])
        // The first time it asks for the user's consent.
        guard case .page(let consent) = outcome else { return outcome }
        return try await browser.submit(consent, [:])
    }

    func logOut(_ browser: UserAgent, from page: UserAgent.Page) async throws {
        _ = try await browser.submit(page, [:])
    }

    private static func configuration(_ port: UInt16, _ directory: String) async throws -> String {
        let key = try await ManagedProcess.output(of: "/usr/bin/openssl", ["genrsa", "2048"])
        let pair = try await ManagedProcess.output(
            of: "/usr/bin/env", ["sh", "-c", #"printf %s "$0" | openssl rsa -pubout"#, key])
        // In JSON a line end of PEM is an escape.
        func text(_ pem: String) -> String { pem.replacing("\n", with: "\\n") }
        func storage(_ name: String) -> String {
            """
            {"Directory": "\(directory)/\(name)", "LockDirectory": "\(directory)/lock",
             "generateModule": "Lemonldap::NG::Common::Apache::Session::Generate::SHA256"}
            """
        }
        let clients = ["app-one", "app-two"].map { client in
            """
            "\(client)": {"oidcRPMetaDataOptionsClientID": "\(client)", "oidcRPMetaDataOptionsPublic": 1,
             "oidcRPMetaDataOptionsRequirePKCE": 1, "oidcRPMetaDataOptionsIDTokenSignAlg": "RS256",
             "oidcRPMetaDataOptionsRefreshToken": 1, "oidcRPMetaDataOptionsRedirectUris": "\(redirectURI(of: client))"}
            """
        }.joined(separator: ",")
        // The captcha module, whose libraries are large, is loaded even where none is asked for.
        return """
            {"cfgNum": 1, "cfgDate": 1, "cfgAuthor": "test", "cfgVersion": "2.16.1", "domain": "127.0.0.1",
             "portal": "http://127.0.0.1:\(port)/", "securedCookie": 0, "cookieName": "lemonldap", "timeout": 72000,
             "authentication": "Demo", "userDB": "Same", "passwordDB": "Null", "registerDB": "Null",
             "captcha": "::Main::Plugin", "demoExportedVars": {"cn": "cn", "mail": "mail", "uid": "uid"},
             "exportedVars": {}, "groups": {}, "macros": {}, "whatToTrace": "uid",
             "globalStorage": "Apache::Session::File", "globalStorageOptions": \(storage("sessions")),
             "persistentStorage": "Apache::Session::File", "persistentStorageOptions": \(storage("persistent")),
             "localSessionStorage": "Cache::FileCache",
             "localSessionStorageOptions": {"namespace": "sessions", "cache_root": "\(directory)/cache"},
             "locationRules": {"127.0.0.1": {"default": "accept"}},
             "issuerDBOpenIDConnectActivation": 1, "oidcServiceMetaDataIssuer": "http://127.0.0.1:\(port)/",
             "oidcServiceAllowAuthorizationCodeFlow": 1, "oidcServiceKeyIdSig": "lemon-1",
             "oidcServicePrivateKeySig": "\(text(key))", "oidcServicePublicKeySig": "\(text(pair))",
             "oidcRPMetaDataOptions": {\(clients)},
             "oidcRPMetaDataExportedVars": {"app-one": {"email": "mail"}, "app-two": {"email": "mail"}}}
            """
    }
}
