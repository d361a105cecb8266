package config

const root = `C:\`
