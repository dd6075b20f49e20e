/// A type by its object id, which for the built-in types is part of the protocol (`pg_type.dat`).
struct ColumnType: Hashable, Sendable {
    let objectID: UInt32

    init(_ objectID: UInt32) { self.objectID = objectID }

    static let bool = ColumnType(16), bytea = ColumnType(17), int8 = ColumnType(20), int2 = ColumnType(21)
    static let int4 = ColumnType(23), timestamptz = ColumnType(1184), uuid = ColumnType(2950)
    static let text = ColumnType(25), textArray = ColumnType(1009)

    /// Binary form = text: "char", name, text, json, unknown, bpchar, varchar, or a type that a schema defines (an enum).
    var isTextual: Bool {
        switch objectID {
        case 18, 19, 25, 114, 705, 1042, 1043: true
        default: isDefinedBySchema
        }
    }

    /// name[], text[], varchar[], or a type that a schema defines (an array of a domain).
    var isTextualArray: Bool {
        switch objectID {
        case 1003, 1009, 1015: true
        default: isDefinedBySchema
        }
    }

    /// Object ids from 16384 on are given out by each database.
    private var isDefinedBySchema: Bool { objectID >= 16_384 }
}
