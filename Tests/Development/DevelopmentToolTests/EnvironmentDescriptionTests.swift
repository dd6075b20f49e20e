import Foundation
import StrictCoding
import Testing

@testable import native_sso_dev

@Suite struct EnvironmentDescriptionTests {
    private let description = EnvironmentDescription(
        layout: Layout(directory: "/d"), ports: Ports(), brokerProgram: "/b/native-sso",
        clusterPasswordFile: "/d/postgresql/pgpass",
        databaseURL: "postgresql://native_sso_broker@127.0.0.1:5/native_sso",
        administrationURL: "postgresql://postgres@127.0.0.1:5/native_sso", profiles: [.deviceID, .deviceSecret],
        processes: ["identity-provider": 11, "broker": 12, "server-a": 13, "server-b": 14])

    @Test func itIsOneLineOfJSONWithEveryAddress() throws {
        #expect(!description.json.contains("\n"))
        let json = try #require(try JSONReader.parse(description.json.utf8).object)
        #expect(json.bool("ready") == true)
        #expect(json.string("page") == "http://127.0.0.1:9004/")
        #expect(json.string("directory") == "/d")
        #expect(json.strings("profiles") == ["device-id", "device-secret"])
        let provider = try #require(json.object("identity_provider"))
        #expect(provider.string("issuer") == "http://127.0.0.1:9000")
        #expect(provider.string("signing_key") == "/d/identity-provider/signing-key.pem")
        #expect(provider.string("users") == "/d/identity-provider/users.json")
        #expect(provider.number("pid")?.int64 == 11)
        #expect(provider.string("log") == "/d/logs/identity-provider.log")
        #expect(json.object("plain_identity_provider")?.string("issuer") == "http://127.0.0.1:9003")
        let broker = try #require(json.object("broker"))
        #expect(broker.string("issuer") == "http://127.0.0.1:8080")
        #expect(broker.string("token_endpoint") == "http://127.0.0.1:8080/token")
        #expect(broker.string("internal") == "http://127.0.0.1:8081")
        #expect(broker.string("program") == "/b/native-sso")
        #expect(broker.string("configuration") == "/d/broker/native-sso.yaml")
        #expect(broker.string("administration_configuration") == "/d/broker/administration.yaml")
        let database = try #require(json.object("database"))
        #expect(database.string("url") == "postgresql://native_sso_broker@127.0.0.1:5/native_sso")
        #expect(database.string("password_file") == "/d/broker/database-password")
        let servers = try #require(json.array("servers")).compactMap(\.object)
        #expect(servers.map { $0.string("name") } == ["server-a", "server-b"])
        #expect(servers.map { $0.string("address") } == ["http://127.0.0.1:9001", "http://127.0.0.1:9002"])
        #expect(servers.map { $0.string("scope") } == ["api:serverA", "api:serverB"])
        let clients = try #require(json.array("clients")).compactMap(\.object)
        #expect(
            clients.map { $0.string("client_id") } == [
                "app-one", "app-two", "app-three", "mobile-app-001", "mobile-app-client", "s6BhdRkqt3",
            ])
        #expect(clients.map { $0.bool("shares_logins") } == [true, true, false, true, true, true])
        let webApp = try #require(json.object("web_app"))
        #expect(webApp.string("client_id") == "web-app")
        #expect(webApp.string("origin") == "https://web.example.test")
        #expect(webApp.string("secret_file") == "/d/broker/web-app-secret")
    }

    @Test func portsAreTheUsualOnesChosenOrFree() throws {
        #expect(try Ports.choose(base: nil) == Ports())
        let inARow = try Ports.choose(base: 20_000)
        #expect(inARow.identityProvider == 20_000 && inARow.serverB == 20_004)
        #expect(inARow.plainProvider == 20_005 && inARow.page == 20_006)
        let free = try Ports.choose(base: 0)
        let all = [
            free.identityProvider, free.brokerPublic, free.brokerInternal, free.serverA, free.serverB,
            free.plainProvider, free.page,
        ]
        #expect(Set(all).count == Ports.count && all.allSatisfy { $0 > 1023 })
    }
}
