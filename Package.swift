// swift-tools-version: 6.2
import PackageDescription

// Every target: Swift 6 mode, warnings are errors, `any` is spelled out, imports are internal unless said otherwise.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "native-sso",
    targets: [
        // The broker.
        .target(name: "StrictCoding", swiftSettings: strict),
        .target(name: "OAuthWire", dependencies: ["StrictCoding"], swiftSettings: strict),

        .testTarget(name: "StrictCodingTests", dependencies: ["StrictCoding"], swiftSettings: strict),
        .testTarget(
            name: "OAuthWireTests", dependencies: ["OAuthWire", "StrictCoding"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
